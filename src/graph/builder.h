// Builds graphs in C++, choices included.
//
//   namespace graph = lanista::graph;
//
//   absl::StatusOr<lanista::v1::ModelGraph> Net(const lanista::Params&) {
//     graph::Builder net("Net", lanista::ops::FindOp);
//     graph::Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 28, 28}));
//     const v1::Node conv = graph::MakeOp("Conv2d", {{"in_channels", 1}, {"out_channels", 32}, {"kernel_size", 3}});
//     x = net.Add("conv", conv, {x});
//     const graph::Candidates layers = {{"relu", graph::MakeOp("ReLU")}, {"silu", graph::MakeOp("SiLU")}};
//     x = net.Add("act", graph::MakeLayerChoice("act", layers), {x});
//     x = net.Add("flatten", graph::MakeOp("Flatten"), {x});
//     const graph::Number width = net.ValueChoice("width", {64, 128});
//     x = net.Add("fc1", graph::MakeOp("Linear", {{"in_features", 21632}, {"out_features", width}}), {x});
//     x = net.Add("fc2", graph::MakeOp("Linear", {{"in_features", width}, {"out_features", 10}}), {x});
//     net.Output(x);
//     return std::move(net).Build();
//   }
//   LANISTA_REGISTER(graph_space, "my_net", Net);
#ifndef LANISTA_SRC_GRAPH_BUILDER_H_
#define LANISTA_SRC_GRAPH_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/graph/mutable_model.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// A number that a choice decides, and arithmetic on it; the result stays linked to the choice's label. As in Python,
// integers stay integers except under `/`.
class Number {
 public:
  // A literal.
  Number(int64_t value);  // NOLINT: numbers mix with choices
  // A literal.
  Number(double value);  // NOLINT
  // A literal.
  Number(int value) : Number(int64_t{value}) {}  // NOLINT
  // What arithmetic on choices makes.
  explicit Number(v1::Expression expression) : expression_(std::move(expression)) {}

  // How the number is computed from choices and literals.
  const v1::Expression& expression() const { return expression_; }

 private:
  v1::Expression expression_;
};

// The sum.
Number operator+(const Number& a, const Number& b);
// The difference.
Number operator-(const Number& a, const Number& b);
// The product.
Number operator*(const Number& a, const Number& b);
// The quotient, which is no integer.
Number operator/(const Number& a, const Number& b);
// The quotient, rounded down: Python's //.
Number FloorDivide(const Number& a, const Number& b);
// The larger one.
Number Max(const Number& a, const Number& b);
// The smaller one.
Number Min(const Number& a, const Number& b);

// The value of an attribute: a literal, a list of ints, or a number that a choice decides.
class AttributeValue {
 public:
  // An integer; it serves where a float is wanted, too.
  AttributeValue(int value) : value_(IntValue(value)) {}  // NOLINT: reads as a literal
  // The same.
  AttributeValue(int64_t value) : value_(IntValue(value)) {}  // NOLINT
  // A float.
  AttributeValue(double value) : value_(FloatValue(value)) {}  // NOLINT
  // A truth value.
  AttributeValue(bool value) : value_(BoolValue(value)) {}  // NOLINT
  // A string: padding_mode = "zeros".
  AttributeValue(const char* value) : value_(StringValue(value)) {}  // NOLINT
  // A list of integers: kernel_size = {3, 5}.
  AttributeValue(std::initializer_list<int64_t> values) : value_(IntsValue(values)) {}  // NOLINT
  // A number that a choice decides.
  AttributeValue(const Number& number);  // NOLINT
  // Any other value.
  AttributeValue(v1::Value value) : value_(std::move(value)) {}  // NOLINT

  // As graphs hold it.
  const v1::Value& value() const { return value_; }

 private:
  v1::Value value_;
};

// Attributes by name.
using AttributeList = std::vector<std::pair<std::string, AttributeValue>>;
// Candidates of a choice, by name.
using Candidates = std::vector<std::pair<std::string, v1::Node>>;

// ---- What nodes do: made first, then added to a graph under a name, with inputs ----

// A torch.nn module by its class and constructor arguments, or an aten operator by its schema name and constant
// arguments.
v1::Node MakeOp(const std::string& type, const AttributeList& attributes = {});
// A choice of one candidate.
v1::Node MakeLayerChoice(const std::string& label, const Candidates& candidates);
// A choice of n_chosen of the inputs with which the node is added.
v1::Node MakeInputChoice(const std::string& label, int n_chosen = 1,
                         v1::InputChoiceNode::Reduction reduction = v1::InputChoiceNode::SUM);
// The first `depth` of `blocks`, in sequence; `depth` is chosen from `depths`. There are as many blocks as the largest
// depth.
v1::Node MakeRepeat(const std::string& label, const std::vector<v1::Node>& blocks, const std::vector<int>& depths);
// A cell as in NAS papers (src/nn/cell.h explains its fields).
struct CellOptions {
  // Nodes besides the predecessors; their outputs are concatenated.
  int num_nodes = 4;
  // Number of operators in a node; their outputs are summed.
  int num_ops_per_node = 1;
  // Number of inputs of the cell.
  int num_predecessors = 1;
  // Concatenate only the nodes that no other node of the cell reads.
  bool loose_end = false;
};
// A cell whose operators are chosen from `op_candidates`, and their inputs from the nodes before.
v1::Node MakeNasCell(const std::string& label, const Candidates& op_candidates, const CellOptions& options);

// A value of the graph: an output of a node, or an input of the graph.
struct Handle {
  // The name of a node, or of an input.
  std::string node;
  // Which output of the node.
  int slot = 0;

  // Another output of the same node, such as an LSTM's hidden state.
  Handle Slot(int other) const { return {node, other}; }
};

// Builds a model of one graph. Build reports all errors, those of earlier calls too. Used by one thread.
class Builder {
 public:
  // `name`: the model's class, shown to users and used in exported source code. `find_op`: ops::FindOp.
  Builder(const std::string& name, OpLookup find_op);

  // Adds an input of the graph. Without a type, shapes stay unknown.
  Handle Input(const std::string& name, const v1::ValueType& type = {});

  // Adds a node; returns its output 0. `name` is its path: "layer1.0.conv1".
  Handle Add(const std::string& name, v1::Node node, const std::vector<Handle>& inputs);
  // The same with inputs given by argument name, which aten operators need: {{"self", x}, {"other", y}}. Handles with
  // the same name are the elements of a list.
  Handle Add(const std::string& name, v1::Node node, const std::vector<std::pair<std::string, Handle>>& inputs);

  // A node that runs `model`; each node made so has parameters of its own.
  v1::Node Cell(const v1::ModelGraph& model);

  // A number with this label. For strings and booleans, use a LayerChoice of operators.
  Number ValueChoice(const std::string& label, const std::vector<Number>& candidates);

  // An output of the model; several outputs make a tuple.
  void Output(const Handle& value);

  // The model. INVALID_ARGUMENT names the node and what is wrong with it (Validate), or the first inputs that do not
  // fit, as far as shapes are known (InferTypes).
  absl::StatusOr<v1::ModelGraph> Build() &&;

 private:
  v1::Graph& graph() { return *model_.mutable_model().mutable_graphs(0); }

  MutableModel model_;
  const OpLookup find_op_;
};

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_BUILDER_H_
