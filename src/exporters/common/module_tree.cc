#include "src/exporters/common/module_tree.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/graph/built_in.h"
#include "src/graph/graph.h"

namespace lanista::exporters {
namespace {

ModuleSlot& Place(ModuleSlot& root, const std::string& path) {
  ModuleSlot* at = &root;
  for (const absl::string_view part : absl::StrSplit(path, '.')) {
    const auto found =
        std::find_if(at->children.begin(), at->children.end(), [&](const auto& child) { return child->name == part; });
    if (found != at->children.end()) {
      at = found->get();
      continue;
    }
    auto child = std::make_unique<ModuleSlot>();
    child->name = std::string(part);
    child->path = graph::JoinPath(at->path, part);
    at->children.push_back(std::move(child));
    at = at->children.back().get();
  }
  return *at;
}

void Collect(const v1::ModelGraph& model, const v1::Graph& graph, ModuleSlot* root) {
  const absl::StatusOr<std::vector<int>> order = graph::ExecutionOrder(graph);
  if (!order.ok()) return;  // Validate has said so.
  for (const int index : *order) {
    const v1::Node& node = graph.nodes(index);
    if (node.has_training_switch()) {
      for (const std::string& arm : {node.training_switch().training(), node.training_switch().evaluation()}) {
        if (const v1::Graph* const body = graph::FindGraph(model, arm)) Collect(model, *body, root);
      }
    } else if (OwnsModule(node)) {
      ModuleSlot& slot = Place(*root, graph::ModuleOf(node));
      if (slot.node == nullptr) slot.node = &node;
    }
  }
}

// Sorts the children of lists, which Python's ModuleList names "0", "1", ..., by number.
void SortLists(ModuleSlot* slot) {
  if (slot->IsList()) {
    std::sort(slot->children.begin(), slot->children.end(), [](const auto& left, const auto& right) {
      return left->name.size() != right->name.size() ? left->name.size() < right->name.size()
                                                     : left->name < right->name;
    });
  }
  for (const auto& child : slot->children) SortLists(child.get());
}

}  // namespace

bool ModuleSlot::IsList() const {
  std::set<std::string> names;
  for (const auto& child : children) names.insert(child->name);
  for (size_t i = 0; i < children.size(); ++i) {
    const v1::Node* const node = children[i]->node;
    if (node != nullptr && IsBuiltIn(*node)) return false;
    if (names.count(absl::StrCat(i)) == 0) return false;
  }
  return !children.empty();
}

bool IsBuiltIn(const v1::Node& node) { return graph::BuiltInOf(node) != graph::BuiltIn::kNone; }

bool IsConstant(const v1::Node& node) {
  return graph::BuiltInOf(node) == graph::BuiltIn::kConstant || node.op().type() == "prim::Constant";
}

const v1::Value& ConstantOf(const v1::Node& node) {
  return node.op().attr_size() > 0 ? node.op().attr(0).value() : v1::Value::default_instance();
}

bool IsPrimitive(absl::string_view type) {
  return type == "prim::ListConstruct" || type == "prim::TupleConstruct" || type == "prim::ListUnpack" ||
         type == "prim::TupleUnpack";
}

std::vector<PrimitiveArgument> PrimitiveArguments(const v1::Node& node) {
  std::map<int, PrimitiveArgument> numbered;
  for (int i = 0; i < node.inputs_size(); ++i) {
    int number = i;
    if (!absl::SimpleAtoi(node.inputs(i).arg(), &number)) number = i;
    numbered[number].input = i;
  }
  for (const v1::Attribute& attribute : node.op().attr()) {
    int number = 0;
    if (absl::SimpleAtoi(attribute.key(), &number)) numbered[number].constant = &attribute.value();
  }
  std::vector<PrimitiveArgument> arguments;
  for (const auto& entry : numbered) arguments.push_back(entry.second);
  return arguments;
}

bool OwnsModule(const v1::Node& node) {
  if (node.has_cell() || node.has_opaque()) return true;
  if (!node.has_op()) return false;
  const graph::BuiltIn built_in = graph::BuiltInOf(node);
  if (built_in == graph::BuiltIn::kConstant) {
    return std::any_of(node.op().attr().begin(), node.op().attr().end(),
                       [](const v1::Attribute& attribute) { return attribute.value().has_tensor(); });
  }
  if (built_in != graph::BuiltIn::kNone) return built_in == graph::BuiltIn::kParameter;
  return node.op().type().find("::") == std::string::npos;
}

ModuleSlot ModulesOf(const v1::ModelGraph& model, const v1::Graph& graph) {
  ModuleSlot root;
  Collect(model, graph, &root);
  SortLists(&root);
  return root;
}

int NumOutputs(const SourceModel& model, const v1::Node& node) {
  if (node.has_op()) {
    if (graph::BuiltInOf(node) == graph::BuiltIn::kAssert) return 0;
    if (const graph::OpSchema* const schema = model.find_op(node.op().type())) {
      return schema->NumOutputs(graph::Attributes(*schema, node.op()));
    }
  } else if (node.has_cell() || node.has_training_switch()) {
    const std::string& name = node.has_cell() ? node.cell().graph() : node.training_switch().evaluation();
    if (const v1::Graph* const body = graph::FindGraph(model.graph, name)) return body->outputs_size();
  }
  return std::max(1, node.outputs_size());
}

bool IsSequential(const SourceModel& model, const v1::Graph& graph) {
  if (graph.inputs_size() != 1 || graph.outputs_size() != 1 || graph.nodes_size() == 0) return false;
  const absl::StatusOr<std::vector<int>> order = graph::ExecutionOrder(graph);
  if (!order.ok()) return false;
  std::string previous = graph.inputs(0).name();
  for (size_t i = 0; i < order->size(); ++i) {
    const v1::Node& node = graph.nodes((*order)[i]);
    if (!OwnsModule(node) || IsBuiltIn(node) || node.frozen()) return false;
    if (graph::ModuleOf(node) != absl::StrCat(i) || NumOutputs(model, node) != 1) return false;
    if (node.inputs_size() != 1 || node.inputs(0).node() != previous || node.inputs(0).slot() != 0) return false;
    previous = node.name();
  }
  return graph.outputs(0).node() == previous && graph.outputs(0).slot() == 0;
}

}  // namespace lanista::exporters
