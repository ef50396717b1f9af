// Writes the computation of a graph as statements: the part that Python and C++ share.
#ifndef LANISTA_SRC_EXPORTERS_COMMON_FORWARD_WRITER_H_
#define LANISTA_SRC_EXPORTERS_COMMON_FORWARD_WRITER_H_

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/exporters/common/source_model.h"
#include "src/exporters/common/source_names.h"

namespace lanista::exporters {

using Lines = std::vector<std::string>;

// Writes one function body. Values are named after their nodes; when a tensor is no longer needed, the next one takes
// its name ("x = torch.relu(x)"). A size or a list that only the next statement reads is written inside that statement:
// "x.view(x.size(0), -1)". Each subclass writes one language. Used by one thread, for one function.
class ForwardWriter {
 public:
  // A variable to which the function assigns.
  struct Target {
    // Empty: no statement reads the value.
    std::string name;
    // The variable is assigned for the first time: C++ must declare it.
    bool fresh = true;
  };

  // A value that a node reads.
  struct Input {
    std::string expression;
    v1::ValueType::Kind kind = v1::ValueType::KIND_UNSPECIFIED;
  };

  // `names` holds the names that are taken. Keeps a reference to `model`.
  ForwardWriter(const SourceModel& model, NameScope names) : model_(model), names_(std::move(names)) {}
  virtual ~ForwardWriter() = default;

  // The statements of `graph`, including the return statement. `prefix` is the path of the class, for messages. Sets
  // `parameters` to the names of the graph's inputs, in order.
  absl::StatusOr<Lines> Write(const v1::Graph& graph, const std::string& prefix, std::vector<std::string>* parameters);

 protected:
  // The node's computation as an expression; `inputs` are in the order of its edges.
  virtual absl::StatusOr<std::string> Expression(const v1::Node& node, const std::vector<Input>& inputs) = 0;
  // Appends an assignment; `targets` has one entry for each output of the node.
  virtual void Assign(const v1::Node& node, const std::vector<Target>& targets, const std::string& expression,
                      Lines* lines) = 0;
  // Appends a branch on the training flag. Both arms already contain their assignments to `targets`.
  virtual void Branch(const v1::Node& node, const std::vector<Target>& targets, const Lines& training,
                      const Lines& evaluation, Lines* lines) = 0;
  // The statement "name = value" in an arm of a branch.
  virtual std::string Copy(const std::string& name, const std::string& value) = 0;
  virtual void Return(const std::vector<Input>& values, Lines* lines) = 0;

  // The message of an assertion; may be empty.
  static std::string MessageOf(const v1::Node& node);
  // What is known of the node's operator; nullptr: nothing, or the node has none.
  const graph::OpSchema* SchemaOf(const v1::Node& node) const;
  // The arguments of an aten operator by name: its inputs and attributes.
  absl::StatusOr<std::map<std::string, std::string>> Arguments(const v1::Node& node,
                                                               const std::vector<Input>& inputs) const;
  // The arguments of a primitive, in order.
  absl::StatusOr<std::vector<Input>> Elements(const v1::Node& node, const std::vector<Input>& inputs) const;
  virtual std::string List(const std::vector<std::string>& elements) const = 0;
  // A constant argument in source code.
  virtual absl::StatusOr<std::string> Literal(const std::string& argument, const v1::Value& value) const = 0;

  // Returns an unused name near `wish`, and takes it.
  std::string TakeName(const std::string& wish) { return names_.Take(wish); }

  const SourceModel& model_;

 private:
  struct Value {
    std::string expression;
    v1::ValueType::Kind kind = v1::ValueType::KIND_UNSPECIFIED;
    // After its last use, the name may be given to another value.
    bool owned = false;
    int uses = 0;
  };
  using Key = std::pair<std::string, int>;
  using Values = std::map<Key, Value>;
  // Nodes whose expressions wait for the single statement that reads them, in order.
  using Waiting = std::vector<const v1::Node*>;

  // Whether the node's expression may be written inside the statement that reads it: it has no effects and is read
  // once.
  bool MayWait(const v1::Node& node, const std::string& expression, const Value& value) const;
  // Assigns the expressions of the waiting nodes to variables, except those that `reader` reads.
  void AssignWaiting(const v1::Node* reader, Waiting* waiting, Values* values, Lines* lines);

  absl::Status WriteNodes(const v1::Graph& graph, const std::string& prefix, Values* values, Lines* lines);
  absl::StatusOr<Lines> WriteArm(const std::string& graph, const std::string& prefix, const std::vector<Input>& inputs,
                                 const std::vector<Target>& targets);
  // `handed_on`: a name that became free with this node; empty: none.
  Target NewTarget(const v1::Node& node, bool tensor, const std::string& handed_on);

  NameScope names_;
  // Names that were declared as tensors and whose values are no longer needed.
  std::set<std::string> free_;
};

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_COMMON_FORWARD_WRITER_H_
