#include "src/exporters/common/forward_writer.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "src/base/status.h"
#include "src/exporters/common/module_tree.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

// Whether the node's expression is written wherever its value is read, instead of being assigned to a variable.
bool IsInline(const v1::Node& node) {
  const graph::BuiltIn built_in = graph::BuiltInOf(node);
  return IsConstant(node) || built_in == graph::BuiltIn::kParameter || built_in == graph::BuiltIn::kTraining;
}

std::string LastPart(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

v1::ValueType::Kind KindOf(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kI:
      return v1::ValueType::INT;
    case v1::Value::kF:
      return v1::ValueType::FLOAT;
    case v1::Value::kB:
      return v1::ValueType::BOOLEAN;
    case v1::Value::kS:
      return v1::ValueType::STRING;
    case v1::Value::kTensor:
      return v1::ValueType::TENSOR;
    case v1::Value::kList:
      return v1::ValueType::LIST;
    default:
      return v1::ValueType::KIND_UNSPECIFIED;
  }
}

v1::ValueType::Kind KindOf(const v1::Node& node, int slot) {
  if (slot < node.outputs_size() && node.outputs(slot).kind() != v1::ValueType::KIND_UNSPECIFIED) {
    return node.outputs(slot).kind();
  }
  if (node.has_op() && node.op().type() == "prim::ListConstruct") return v1::ValueType::LIST;
  if (node.has_op() && node.op().type() == "prim::TupleConstruct") return v1::ValueType::TUPLE;
  return OwnsModule(node) ? v1::ValueType::TENSOR : v1::ValueType::KIND_UNSPECIFIED;
}

bool Reads(const v1::Node& reader, const v1::Node& node) {
  for (const v1::Edge& edge : reader.inputs()) {
    if (edge.node() == node.name()) return true;
  }
  return false;
}

}  // namespace

absl::StatusOr<Lines> ForwardWriter::Write(const v1::Graph& graph, const std::string& prefix,
                                           std::vector<std::string>* parameters) {
  Values values;
  for (const v1::Port& port : graph.inputs()) {
    const std::string name = names_.Take(ToIdentifier(port.name()));
    parameters->push_back(name);
    const v1::ValueType::Kind kind =
        port.type().kind() == v1::ValueType::KIND_UNSPECIFIED ? v1::ValueType::TENSOR : port.type().kind();
    // The values of inputs keep their names. Only "x" may be reused, because computed values have that name.
    values[{port.name(), 0}] = {name, kind, kind == v1::ValueType::TENSOR && name == "x", 0};
  }
  Lines lines;
  LANISTA_RETURN_IF_ERROR(WriteNodes(graph, prefix, &values, &lines));
  std::vector<Input> results;
  for (const v1::Edge& edge : graph.outputs()) {
    const Value& value = values.at({edge.node(), edge.slot()});
    results.push_back({value.expression, value.kind});
  }
  Return(results, &lines);
  return lines;
}

absl::Status ForwardWriter::WriteNodes(const v1::Graph& graph, const std::string& prefix, Values* values,
                                       Lines* lines) {
  for (const v1::Node& node : graph.nodes()) {
    for (const v1::Edge& edge : node.inputs()) ++(*values)[{edge.node(), edge.slot()}].uses;
  }
  for (const v1::Edge& edge : graph.outputs()) ++(*values)[{edge.node(), edge.slot()}].uses;

  Waiting waiting;
  LANISTA_ASSIGN_OR_RETURN(const std::vector<int> order, graph::ExecutionOrder(graph));
  for (const int index : order) {
    const v1::Node& node = graph.nodes(index);
    // Both arms of a branch may read the same value.
    if (node.has_training_switch()) AssignWaiting(nullptr, &waiting, values, lines);
    std::vector<Input> inputs;
    for (const v1::Edge& edge : node.inputs()) {
      const Value& value = values->at({edge.node(), edge.slot()});
      inputs.push_back({value.expression, value.kind});
    }
    std::string handed_on;
    for (const v1::Edge& edge : node.inputs()) {
      Value& value = values->at({edge.node(), edge.slot()});
      if (--value.uses > 0 || !value.owned) continue;
      free_.insert(value.expression);
      if (handed_on.empty()) handed_on = value.expression;
    }

    std::vector<Target> targets;
    const int num_outputs = NumOutputs(model_, node);
    bool is_inline = IsInline(node);
    std::string expression;
    // The arms of a branch may read the inputs after they assigned other values, so no name is handed on.
    if (!node.has_training_switch()) {
      absl::StatusOr<std::string> written = Expression(node, inputs);
      if (!written.ok()) {
        return Annotate(written.status(), absl::StrCat("node '", graph::JoinPath(prefix, node.name()), "'"));
      }
      expression = *std::move(written);
    }
    Value& first = (*values)[{node.name(), 0}];
    first.kind = KindOf(node, 0);
    const bool waits = !is_inline && num_outputs == 1 && MayWait(node, expression, first);
    if (waits) {
      // The expressions that it reads are now part of its own expression.
      Waiting others;
      for (const v1::Node* const other : waiting) {
        if (!Reads(node, *other)) others.push_back(other);
      }
      waiting = std::move(others);
      waiting.push_back(&node);
      is_inline = true;
    } else if (!is_inline) {
      AssignWaiting(&node, &waiting, values, lines);
    }
    for (int slot = 0; slot < num_outputs; ++slot) {
      Value& value = (*values)[{node.name(), slot}];
      value.kind = KindOf(node, slot);
      if (is_inline) {
        value.expression = expression;
        continue;
      }
      if (value.uses == 0) {
        targets.emplace_back();
        continue;
      }
      if (node.has_training_switch()) {
        targets.push_back({names_.Take(ToIdentifier(LastPart(node.name()))), true});
      } else {
        targets.push_back(NewTarget(node, value.kind == v1::ValueType::TENSOR, handed_on));
      }
      value.expression = targets.back().name;
      value.owned = value.kind == v1::ValueType::TENSOR;
    }
    if (node.has_training_switch()) {
      // Both arms read the inputs, so their names stay taken until the end of the function.
      for (const Input& input : inputs) free_.erase(input.expression);
      const v1::TrainingSwitch& arms = node.training_switch();
      LANISTA_ASSIGN_OR_RETURN(const Lines training, WriteArm(arms.training(), prefix, inputs, targets));
      LANISTA_ASSIGN_OR_RETURN(const Lines evaluation, WriteArm(arms.evaluation(), prefix, inputs, targets));
      Branch(node, targets, training, evaluation, lines);
    } else if (!is_inline) {
      Assign(node, targets, expression, lines);
    }
  }
  return absl::OkStatus();
}

const graph::OpSchema* ForwardWriter::SchemaOf(const v1::Node& node) const {
  return node.has_op() ? model_.find_op(node.op().type()) : nullptr;
}

bool ForwardWriter::MayWait(const v1::Node& node, const std::string& expression, const Value& value) const {
  constexpr size_t kLongest = 60;
  if (value.uses != 1 || value.kind == v1::ValueType::TENSOR || !node.has_op() || expression.size() > kLongest) {
    return false;
  }
  const graph::OpSchema* const schema = SchemaOf(node);
  return schema == nullptr ? node.op().type() == "prim::ListConstruct" : schema->MayStandWithinExpressions();
}

void ForwardWriter::AssignWaiting(const v1::Node* reader, Waiting* waiting, Values* values, Lines* lines) {
  for (const v1::Node* const node : *waiting) {
    if (reader != nullptr && Reads(*reader, *node)) continue;
    Value& value = values->at({node->name(), 0});
    const Target target = NewTarget(*node, false, "");
    Assign(*node, {target}, value.expression, lines);
    value.expression = target.name;
  }
  waiting->clear();
}

absl::StatusOr<Lines> ForwardWriter::WriteArm(const std::string& graph, const std::string& prefix,
                                              const std::vector<Input>& inputs, const std::vector<Target>& targets) {
  const v1::Graph* const body = graph::FindGraph(model_.graph, graph);
  if (body == nullptr) return absl::InvalidArgumentError(absl::StrCat("there is no graph '", graph, "'"));
  // Variables that an arm declares exist only within it.
  const NameScope names = names_;
  const std::set<std::string> free = free_;
  Values values;
  for (int i = 0; i < body->inputs_size(); ++i)
    values[{body->inputs(i).name(), 0}] = {inputs.at(i).expression, inputs.at(i).kind, false, 0};
  Lines lines;
  LANISTA_RETURN_IF_ERROR(WriteNodes(*body, prefix, &values, &lines));
  for (size_t i = 0; i < targets.size(); ++i) {
    const v1::Edge& edge = body->outputs(static_cast<int>(i));
    const std::string& value = values.at({edge.node(), edge.slot()}).expression;
    if (!targets[i].name.empty()) lines.push_back(Copy(targets[i].name, value));
  }
  names_ = names;
  free_ = free;
  return lines;
}

ForwardWriter::Target ForwardWriter::NewTarget(const v1::Node& node, bool tensor, const std::string& handed_on) {
  if (!tensor) return {names_.Take(ToIdentifier(LastPart(node.name()))), true};
  for (const std::string& name : {handed_on, std::string("x"), std::string("out")}) {
    if (free_.erase(name) > 0) return {name, false};
    if (!name.empty() && !names_.IsTaken(name)) return {names_.Take(name), true};
  }
  return {names_.Take(ToIdentifier(LastPart(node.name()))), true};
}

std::string ForwardWriter::MessageOf(const v1::Node& node) {
  for (const v1::Attribute& attribute : node.op().attr()) {
    // TorchScript's compiler puts the name of the exception first; Python's assert does that by itself.
    if (attribute.key() == "message") return std::string(absl::StripPrefix(attribute.value().s(), "AssertionError: "));
  }
  return "";
}

absl::StatusOr<std::map<std::string, std::string>> ForwardWriter::Arguments(const v1::Node& node,
                                                                            const std::vector<Input>& inputs) const {
  std::map<std::string, std::vector<Input>> given;
  for (size_t i = 0; i < inputs.size(); ++i) given[node.inputs(static_cast<int>(i)).arg()].push_back(inputs[i]);
  std::set<std::string> lists;
  const auto signature = model_.signatures.find(node.op().type());
  if (signature != model_.signatures.end()) {
    for (const AtenSignature::Argument& argument : signature->second.arguments) {
      if (argument.is_list) lists.insert(argument.name);
    }
  }
  std::map<std::string, std::string> arguments;
  for (const auto& [name, values] : given) {
    // A single value for a list argument is the list's only element, unless the value is a list itself.
    const bool is_list = values.size() > 1 || (lists.count(name) > 0 && values[0].kind != v1::ValueType::LIST);
    std::vector<std::string> elements;
    for (const Input& value : values) elements.push_back(value.expression);
    arguments[name] = is_list ? List(elements) : elements[0];
  }
  for (const v1::Attribute& attribute : node.op().attr()) {
    LANISTA_ASSIGN_OR_RETURN(arguments[attribute.key()], Literal(attribute.key(), attribute.value()));
  }
  return arguments;
}

absl::StatusOr<std::vector<ForwardWriter::Input>> ForwardWriter::Elements(const v1::Node& node,
                                                                          const std::vector<Input>& inputs) const {
  std::vector<Input> elements;
  for (const PrimitiveArgument& argument : PrimitiveArguments(node)) {
    if (argument.constant == nullptr) {
      elements.push_back(inputs.at(static_cast<size_t>(argument.input)));
      continue;
    }
    LANISTA_ASSIGN_OR_RETURN(std::string literal, Literal("", *argument.constant));
    elements.push_back({std::move(literal), KindOf(*argument.constant)});
  }
  return elements;
}

}  // namespace lanista::exporters
