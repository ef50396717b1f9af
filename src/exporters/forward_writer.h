// Writes what a graph computes as statements: what Python and C++ have in common.
#ifndef LANISTA_SRC_EXPORTERS_FORWARD_WRITER_H_
#define LANISTA_SRC_EXPORTERS_FORWARD_WRITER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/source_model.h"
#include "src/exporters/source_names.h"

namespace lanista::exporters {

using Lines = std::vector<std::string>;

// One function body. Names of values come from the nodes; a tensor that nobody reads any more hands its name on ("x =
// torch.relu(x)"). A size or a list that is read once, by the next statement, stands in it: "x.view(x.size(0), -1)".
// Subclasses know a language. Used by one thread, for one function.
class ForwardWriter {
 public:
  // A variable that the function computes.
  struct Target {
    // Empty: nobody reads it.
    std::string name;
    // Not assigned before: C++ declares it.
    bool fresh = true;
  };

  // A value that a node reads.
  struct Input {
    std::string expression;
    v1::TypeKind kind = v1::TYPE_KIND_UNSPECIFIED;
  };

  // `names` are taken already. Keeps a reference to `model`.
  ForwardWriter(const SourceModel& model, NameScope names) : model_(model), names_(std::move(names)) {}
  virtual ~ForwardWriter() = default;

  // The statements of `graph`, return statement included. `prefix` is the path of the class, for messages. Fills
  // `parameters` with the names of the graph's inputs, in order.
  absl::StatusOr<Lines> Write(const v1::Graph& graph, const std::string& prefix, std::vector<std::string>* parameters);

 protected:
  // What the node computes, of its inputs, edge by edge.
  virtual absl::StatusOr<std::string> Expression(const v1::Node& node, const std::vector<Input>& inputs) = 0;
  // Whether the node's expression is to stand where its value is read, instead of in a variable.
  virtual bool IsInline(const v1::Node& node) = 0;
  // One assignment; `targets` has one entry for each output of the node.
  virtual void Assign(const v1::Node& node, const std::vector<Target>& targets, const std::string& expression,
                      Lines* lines) = 0;
  // Both arms hold their assignments to `targets` already.
  virtual void Branch(const v1::Node& node, const std::vector<Target>& targets, const Lines& training,
                      const Lines& evaluation, Lines* lines) = 0;
  // "out = value", in an arm of a branch.
  virtual std::string Copy(const std::string& name, const std::string& value) = 0;
  virtual void Return(const std::vector<Input>& values, Lines* lines) = 0;

  // What an assertion says; empty: nothing.
  static std::string MessageOf(const v1::Node& node);
  // The arguments of an aten operator by name: its inputs and attributes.
  absl::StatusOr<std::map<std::string, std::string>> Arguments(const v1::Node& node,
                                                               const std::vector<Input>& inputs) const;
  // Those of a primitive, in order.
  absl::StatusOr<std::vector<Input>> Elements(const v1::Node& node, const std::vector<Input>& inputs) const;
  virtual std::string List(const std::vector<std::string>& elements) const = 0;
  // A constant argument.
  virtual absl::StatusOr<std::string> Literal(const std::string& argument, const v1::Value& value) const = 0;

  // A name that nothing in the function has.
  std::string TakeName(const std::string& wish) { return names_.Take(wish); }

  const SourceModel& model_;

 private:
  struct Value {
    std::string expression;
    v1::TypeKind kind = v1::TYPE_KIND_UNSPECIFIED;
    // The name may be given to another value after the last use.
    bool owned = false;
    int uses = 0;
  };
  using Key = std::pair<std::string, int>;
  using Values = std::map<Key, Value>;
  // Nodes whose expressions wait for the one statement that reads them, in order.
  using Waiting = std::vector<const v1::Node*>;

  // Whether the node's expression may stand where its value is read: it changes nothing, and is read once.
  static bool MayWait(const v1::Node& node, const std::string& expression, const Value& value);
  // Gives variables to the nodes that wait, except those that `reader` reads.
  void AssignWaiting(const v1::Node* reader, Waiting* waiting, Values* values, Lines* lines);

  absl::Status WriteNodes(const v1::Graph& graph, const std::string& prefix, Values* values, Lines* lines);
  absl::StatusOr<Lines> WriteArm(const std::string& graph, const std::string& prefix, const std::vector<Input>& inputs,
                                 const std::vector<Target>& targets);
  // `handed_on`: a name that became free with this node; empty if none.
  Target NewTarget(const v1::Node& node, bool tensor, const std::string& handed_on);

  NameScope names_;
  // Names that were declared as tensors, and whose values nobody reads any more.
  std::set<std::string> free_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_FORWARD_WRITER_H_
