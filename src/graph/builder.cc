#include "src/graph/builder.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/expression.h"
#include "src/graph/graph.h"

namespace lanista::graph {
namespace {

v1::Expression Literal(v1::Value value) {
  v1::Expression expression;
  *expression.mutable_literal() = std::move(value);
  return expression;
}

Number Operate(v1::Operation::Kind kind, const Number& a, const Number& b) {
  return Number(OperationExpression(kind, a.expression(), b.expression()));
}

}  // namespace

Number::Number(int64_t value) : expression_(LiteralExpression(value)) {}
Number::Number(double value) : expression_(Literal(FloatValue(value))) {}

Number operator+(const Number& a, const Number& b) { return Operate(v1::Operation::ADD, a, b); }
Number operator-(const Number& a, const Number& b) { return Operate(v1::Operation::SUBTRACT, a, b); }
Number operator*(const Number& a, const Number& b) { return Operate(v1::Operation::MULTIPLY, a, b); }
Number operator/(const Number& a, const Number& b) { return Operate(v1::Operation::DIVIDE, a, b); }
Number FloorDivide(const Number& a, const Number& b) { return Operate(v1::Operation::FLOOR_DIVIDE, a, b); }
Number Max(const Number& a, const Number& b) { return Operate(v1::Operation::MAXIMUM, a, b); }
Number Min(const Number& a, const Number& b) { return Operate(v1::Operation::MINIMUM, a, b); }

AttributeValue::AttributeValue(const Number& number) {
  if (number.expression().has_literal()) {
    value_ = number.expression().literal();
  } else {
    *value_.mutable_expression() = number.expression();
  }
}

v1::Node MakeOp(const std::string& type, const AttributeList& attributes) {
  v1::Node node;
  node.mutable_op()->set_type(type);
  // Sorted by key, as the IR has them.
  const std::map<std::string, AttributeValue> sorted(attributes.begin(), attributes.end());
  for (const auto& [key, value] : sorted) {
    v1::Attribute* const attribute = node.mutable_op()->add_attr();
    attribute->set_key(key);
    *attribute->mutable_value() = value.value();
  }
  return node;
}

v1::Node MakeLayerChoice(const std::string& label, const Candidates& candidates) {
  v1::Node node;
  node.mutable_layer_choice()->set_label(label);
  for (const auto& [name, candidate] : candidates) {
    v1::Node* const added = node.mutable_layer_choice()->add_candidates();
    *added = candidate;
    added->set_name(name);
  }
  return node;
}

v1::Node MakeInputChoice(const std::string& label, int n_chosen, v1::InputChoiceNode::Reduction reduction) {
  v1::Node node;
  node.mutable_input_choice()->set_label(label);
  node.mutable_input_choice()->set_n_chosen(n_chosen);
  node.mutable_input_choice()->set_reduction(reduction);
  return node;
}

v1::Node MakeRepeat(const std::string& label, const std::vector<v1::Node>& blocks, const std::vector<int>& depths) {
  v1::Node node;
  v1::RepeatNode* const repeat = node.mutable_repeat();
  repeat->set_label(label);
  for (const int depth : depths) repeat->add_depths(depth);
  for (size_t i = 0; i < blocks.size(); ++i) {
    *repeat->add_blocks() = blocks[i];
    repeat->mutable_blocks(static_cast<int>(i))->set_name(absl::StrCat(i));
  }
  return node;
}

v1::Node MakeNasCell(const std::string& label, const Candidates& op_candidates, const CellOptions& options) {
  v1::Node node;
  v1::NasCellNode* const cell = node.mutable_nas_cell();
  cell->set_label(label);
  cell->set_num_nodes(options.num_nodes);
  cell->set_num_ops_per_node(options.num_ops_per_node);
  cell->set_num_predecessors(options.num_predecessors);
  cell->set_loose_end(options.loose_end);
  for (const auto& [name, candidate] : op_candidates) {
    *cell->add_op_candidates() = candidate;
    cell->mutable_op_candidates(cell->op_candidates_size() - 1)->set_name(name);
  }
  return node;
}

Builder::Builder(const std::string& name, OpLookup find_op) : model_({}, find_op), find_op_(find_op) {
  v1::ModelGraph& model = model_.mutable_model();
  model.set_version(1);
  model.set_name(name);
  model.set_root(name);
  model.add_graphs()->set_name(name);
}

Handle Builder::Input(const std::string& name, const v1::ValueType& type) {
  v1::Port* const port = graph().add_inputs();
  port->set_name(name);
  *port->mutable_type() = type;
  return {name};
}

Handle Builder::Add(const std::string& name, v1::Node node, const std::vector<Handle>& inputs) {
  std::vector<std::pair<std::string, Handle>> unnamed;
  for (const Handle& input : inputs) unnamed.emplace_back("", input);
  return Add(name, std::move(node), unnamed);
}

Handle Builder::Add(const std::string& name, v1::Node node, const std::vector<std::pair<std::string, Handle>>& inputs) {
  node.set_name(name);
  for (const auto& [argument, input] : inputs) {
    v1::Edge* const edge = node.add_inputs();
    edge->set_node(input.node);
    edge->set_slot(input.slot);
    edge->set_arg(argument);
  }
  *graph().add_nodes() = std::move(node);
  return {name};
}

v1::Node Builder::Cell(const v1::ModelGraph& model) { return model_.AddModel(model); }

Number Builder::ValueChoice(const std::string& label, const std::vector<Number>& candidates) {
  v1::ValueChoice* const choice = model_.mutable_model().add_value_choices();
  choice->set_label(label);
  for (const Number& candidate : candidates) *choice->add_candidates() = candidate.expression().literal();
  return Number(ChoiceExpression(label));
}

void Builder::Output(const Handle& value) {
  v1::Edge* const edge = graph().add_outputs();
  edge->set_node(value.node);
  edge->set_slot(value.slot);
}

absl::StatusOr<v1::ModelGraph> Builder::Build() && {
  v1::ModelGraph model = std::move(model_).Release();
  LANISTA_RETURN_IF_ERROR(Validate(model, find_op_));
  LANISTA_RETURN_IF_ERROR(InferTypes(&model, find_op_));
  return model;
}

}  // namespace lanista::graph
