// A value of TorchScript while a method is read: either known, or computed by a node.
#ifndef LANISTA_SRC_FRONTENDS_ABSTRACT_VALUE_H_
#define LANISTA_SRC_FRONTENDS_ABSTRACT_VALUE_H_

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "protos/graph.pb.h"

namespace torch::jit {
struct Module;
}  // namespace torch::jit

namespace lanista::frontends {

// Thrown if a method does something that nodes cannot express. The innermost module is then kept whole, as an opaque
// node.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class GraphWriter;

// One value. Copies of a list share its elements, as in TorchScript.
struct AbstractValue {
  // Lists and tuples are never kConstant: they are kList and kTuple, whether their elements are known or not.
  enum class Kind { kConstant, kEdge, kModule, kList, kTuple, kDict };
  // Whether a boolean is the training flag, or its negation.
  enum class Flag { kNone, kTraining, kNotTraining };

  Kind kind = Kind::kConstant;
  c10::IValue constant;
  // No code reads the value: TorchScript guarantees it. In a branch, the other arm gives the value.
  bool uninitialized = false;
  // A formatted text with unknown parts: `constant` is the template. Used for messages of errors only.
  bool is_template = false;

  // kEdge: output `slot` of a node (or an input) of the graph that `writer` writes.
  // kList, kDict: the graph in which it was made and may be changed; nullptr: other code sees it, so it must not
  // change.
  GraphWriter* writer = nullptr;
  std::string node;
  int slot = 0;
  Flag flag = Flag::kNone;

  // All kinds except kModule.
  c10::TypePtr type;

  // kModule. `path` is its path in the file.
  std::shared_ptr<torch::jit::Module> module;
  std::string path;

  // kList, kTuple; kDict: the values.
  std::shared_ptr<std::vector<AbstractValue>> elements;
  // kDict.
  std::shared_ptr<std::vector<c10::IValue>> keys;

  // A known value; its lists may be changed while `writer` writes.
  static AbstractValue Constant(const c10::IValue& value, GraphWriter* writer = nullptr);
  static AbstractValue Module(torch::jit::Module module, std::string path);
  static AbstractValue Sequence(Kind kind, std::vector<AbstractValue> elements, c10::TypePtr type, GraphWriter* writer);

  bool is_constant() const { return kind == Kind::kConstant; }
  bool is_none() const { return is_constant() && constant.isNone(); }
  bool is_edge() const { return kind == Kind::kEdge; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
  bool is_compound() const { return is_sequence() || kind == Kind::kDict; }
  bool is_bool(bool value) const { return is_constant() && constant.isBool() && constant.toBool() == value; }

  // The value, if all of it is known. Lists are copied.
  std::optional<c10::IValue> Known() const;

  // Whether both are the same edge or equal constants.
  bool SameAs(const AbstractValue& other) const;

  // A value of the same structure, with each edge replaced by what `convert` returns for it. The result's lists must
  // not be changed. Throws Unsupported for a module.
  AbstractValue Map(const std::function<AbstractValue(const AbstractValue& edge)>& convert) const;
};

// A TorchScript constant as a v1::Value; nullopt unless it is a number, string, boolean, none, device, tensor, or a
// list or tuple of these.
std::optional<v1::Value> ToValue(const c10::IValue& value);

// The v1 kind of a TorchScript type; unspecified if there is none.
v1::ValueType KindOf(const c10::TypePtr& type);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_ABSTRACT_VALUE_H_
