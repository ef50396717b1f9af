// What a value of TorchScript is while a method is read: known, or computed by a node.
#ifndef LANISTA_SRC_FRONTENDS_ABSTRACT_VALUE_H_
#define LANISTA_SRC_FRONTENDS_ABSTRACT_VALUE_H_

#include <torch/script.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "protos/graph.pb.h"

namespace lanista::frontends {

// Thrown where a method does something that nodes cannot express. The innermost module is then kept whole.
struct Unsupported : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class GraphWriter;

// One value. Copies share what a list holds, as in TorchScript.
struct AbstractValue {
  // kConstant holds no list and no tuple: those are kList and kTuple, known elements or not.
  enum class Kind { kConstant, kEdge, kModule, kList, kTuple, kDict };
  // Whether a truth value is the training flag, or its opposite.
  enum class Flag { kNone, kTraining, kNotTraining };

  Kind kind = Kind::kConstant;
  c10::IValue constant;
  // TorchScript promises that nobody reads it: the other arm of a branch decides.
  bool uninitialized = false;
  // A text into which unknown values go: `constant` is the template. Good for messages of errors only.
  bool is_template = false;

  // kEdge: output `slot` of a node (or input) of the graph that `writer` writes.
  // kList, kDict: the graph during which it was made, and may be changed; nullptr: others see it, it must stay.
  GraphWriter* writer = nullptr;
  std::string node;
  int slot = 0;
  Flag flag = Flag::kNone;

  // All but kModule.
  c10::TypePtr type;

  // kModule. Its path in the file.
  std::shared_ptr<torch::jit::Module> module;
  std::string path;

  // kList, kTuple; kDict: the values.
  std::shared_ptr<std::vector<AbstractValue>> elements;
  // kDict.
  std::shared_ptr<std::vector<c10::IValue>> keys;

  // What is known; lists in it may be changed during `writer`.
  static AbstractValue Constant(const c10::IValue& value, GraphWriter* writer = nullptr);
  static AbstractValue Module(torch::jit::Module module, std::string path);
  static AbstractValue Sequence(Kind kind, std::vector<AbstractValue> elements, c10::TypePtr type, GraphWriter* writer);

  bool is_constant() const { return kind == Kind::kConstant; }
  bool is_none() const { return is_constant() && constant.isNone(); }
  bool is_edge() const { return kind == Kind::kEdge; }
  bool is_sequence() const { return kind == Kind::kList || kind == Kind::kTuple; }
  bool is_compound() const { return is_sequence() || kind == Kind::kDict; }
  bool is_bool(bool value) const { return is_constant() && constant.isBool() && constant.toBool() == value; }

  // The value, if all of it is known. Lists come as copies.
  std::optional<c10::IValue> Known() const;

  // The same edge, or the same constant.
  bool SameAs(const AbstractValue& other) const;

  // A value of the same structure, in which each edge became what `convert` returns for it. Its lists must not be
  // changed. Throws Unsupported at a module.
  AbstractValue Map(const std::function<AbstractValue(const AbstractValue& edge)>& convert) const;
};

// A constant of TorchScript's as a value of ours; nullopt: it is none of numbers, strings, truth values, none, devices,
// tensors, and lists and tuples of these.
std::optional<v1::Value> ToValue(const c10::IValue& value);

// The kind of a TorchScript type, as far as it has one here.
v1::ValueType KindOf(const c10::TypePtr& type);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_ABSTRACT_VALUE_H_
