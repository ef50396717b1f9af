#include "src/frontends/graph_writer.h"

#include "absl/strings/str_cat.h"
#include "src/graph/built_in.h"

namespace lanista::frontends {

AbstractValue GraphWriter::AddInput(const std::string& wish, c10::TypePtr type) {
  v1::Port* const port = graph_.add_inputs();
  port->set_name(FreeName(wish, /*is_module=*/false));
  *port->mutable_type() = KindOf(type);
  return Output(port->name(), 0, std::move(type));
}

std::string GraphWriter::AddNode(v1::Node node, Effect effect) {
  node.set_name(FreeName(node.name(), /*is_module=*/false));
  return Append(std::move(node), effect);
}

std::string GraphWriter::AddModuleNode(v1::Node node, Effect effect) {
  const std::string module = node.module().empty() ? node.name() : node.module();
  node.set_name(FreeName(node.name(), node.module().empty()));
  if (node.name() != module) node.set_module(module);
  return Append(std::move(node), effect);
}

std::string GraphWriter::Append(v1::Node node, Effect effect) {
  if (effect == Effect::kNone) pure_.insert(node.name());
  *graph_.add_nodes() = std::move(node);
  return graph_.nodes(graph_.nodes_size() - 1).name();
}

AbstractValue GraphWriter::Output(const std::string& node, int slot, c10::TypePtr type) {
  AbstractValue value;
  value.kind = AbstractValue::Kind::kEdge;
  value.writer = this;
  value.node = node;
  value.slot = slot;
  value.type = std::move(type);
  return value;
}

v1::Edge GraphWriter::Read(const AbstractValue& value, const std::string& arg) {
  const AbstractValue edge_value = ToEdge(value);
  v1::Edge edge;
  edge.set_arg(arg);
  if (edge_value.writer == this) {
    edge.set_node(edge_value.node);
    edge.set_slot(edge_value.slot);
    return edge;
  }
  std::string& input = inputs_of_[KeyOf(edge_value)];
  if (input.empty()) {
    input = AddInput(edge_value.node, edge_value.type).node;
    captured_.push_back(edge_value);
  }
  edge.set_node(input);
  return edge;
}

AbstractValue GraphWriter::ToEdge(const AbstractValue& value) {
  switch (value.kind) {
    case AbstractValue::Kind::kEdge:
      return value;
    case AbstractValue::Kind::kConstant:
      return ConstantNode(value);
    case AbstractValue::Kind::kList:
    case AbstractValue::Kind::kTuple:
      return SequenceNode(value);
    case AbstractValue::Kind::kModule:
      throw Unsupported("hands on a module as a value");
    case AbstractValue::Kind::kDict:
      break;
  }
  throw Unsupported("hands on a dictionary");
}

AbstractValue GraphWriter::ConstantNode(const AbstractValue& value) {
  if (value.is_template) throw Unsupported("hands on a text that is not known");
  if (value.constant.isTensor()) {
    for (const auto& [tensor, edge] : constants_) {
      if (tensor.is_same(value.constant.toTensor())) return edge;
    }
  }
  const auto constant = ToValue(value.constant);
  if (!constant.has_value()) {
    throw Unsupported(absl::StrCat("hands on a constant of type ", value.constant.type()->str()));
  }
  v1::Node node;
  node.set_name("constant");
  node.mutable_op()->set_type(constant->has_tensor() ? graph::TypeOf(graph::BuiltIn::kConstant) : "prim::Constant");
  v1::Attribute* const attribute = node.mutable_op()->add_attr();
  attribute->set_key(constant->has_tensor() ? "value" : "0");
  *attribute->mutable_value() = *constant;
  *node.add_outputs() = KindOf(value.constant.type());
  AbstractValue edge = Output(AddNode(std::move(node), Effect::kNone), 0, value.constant.type());
  if (value.constant.isTensor()) constants_.emplace_back(value.constant.toTensor(), edge);
  return edge;
}

// Known elements become attributes, named by their positions.
AbstractValue GraphWriter::SequenceNode(const AbstractValue& value) {
  const bool list = value.kind == AbstractValue::Kind::kList;
  v1::Node node;
  node.set_name(list ? "list" : "tuple");
  node.mutable_op()->set_type(list ? "prim::ListConstruct" : "prim::TupleConstruct");
  for (size_t i = 0; i < value.elements->size(); ++i) {
    const AbstractValue& element = (*value.elements)[i];
    const auto known = element.Known();
    const auto constant = known.has_value() ? ToValue(*known) : std::nullopt;
    if (constant.has_value() && !constant->has_tensor()) {
      v1::Attribute* const attribute = node.mutable_op()->add_attr();
      attribute->set_key(absl::StrCat(i));
      *attribute->mutable_value() = *constant;
    } else {
      *node.add_inputs() = Read(element, absl::StrCat(i));
    }
  }
  *node.add_outputs() = KindOf(value.type);
  return Output(AddNode(std::move(node), Effect::kNone), 0, value.type);
}

void GraphWriter::Finish() {
  std::map<std::string, int> readers;
  for (const v1::Edge& edge : graph_.outputs()) ++readers[edge.node()];
  for (const v1::Node& node : graph_.nodes()) {
    for (const v1::Edge& edge : node.inputs()) ++readers[edge.node()];
  }
  // Nodes come after the nodes that they read, so going backwards sees all readers first.
  std::vector<v1::Node> kept;
  for (int i = graph_.nodes_size() - 1; i >= 0; --i) {
    v1::Node& node = *graph_.mutable_nodes(i);
    if (pure_.count(node.name()) > 0 && readers[node.name()] == 0) {
      for (const v1::Edge& edge : node.inputs()) --readers[edge.node()];
    } else {
      kept.push_back(std::move(node));
    }
  }
  graph_.clear_nodes();
  for (auto node = kept.rbegin(); node != kept.rend(); ++node) *graph_.add_nodes() = std::move(*node);

  std::vector<AbstractValue> read;
  for (const AbstractValue& value : captured_) {
    if (readers[inputs_of_.at(KeyOf(value))] > 0) read.push_back(value);
  }
  SetCaptured(read);
}

void GraphWriter::SetCaptured(const std::vector<AbstractValue>& values) {
  std::set<std::string> from_around;
  for (const auto& entry : inputs_of_) from_around.insert(entry.second);
  std::vector<v1::Port> ports;
  for (const v1::Port& port : graph_.inputs()) {
    if (from_around.count(port.name()) == 0) ports.push_back(port);
  }
  for (const AbstractValue& value : values) {
    v1::Port& port = ports.emplace_back();
    port.set_name(Read(value).node());
    *port.mutable_type() = KindOf(value.type);
  }
  graph_.clear_inputs();
  for (v1::Port& port : ports) *graph_.add_inputs() = std::move(port);
  captured_ = values;
}

std::string GraphWriter::FreeName(const std::string& wish, bool is_module) {
  const std::string base = wish.empty() ? "value" : wish;
  std::string name = base;
  const auto is_taken = [&] {
    return names_.count(name) > 0 || (!(is_module && name == base) && reserved_.count(name) > 0);
  };
  for (int number = 2; is_taken(); ++number) name = absl::StrCat(base, "_", number);
  names_.insert(name);
  return name;
}

}  // namespace lanista::frontends
