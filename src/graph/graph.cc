#include "src/graph/graph.h"

#include <queue>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista::graph {
namespace {

void VisitNode(const v1::ModelGraph& model, const v1::Node& node, const std::string& prefix,
               const std::function<void(const std::string&, const v1::Node&)>& visit);

void VisitGraph(const v1::ModelGraph& model, const v1::Graph& graph, const std::string& prefix,
                const std::function<void(const std::string&, const v1::Node&)>& visit) {
  const absl::StatusOr<std::vector<int>> order = ExecutionOrder(graph);
  if (!order.ok()) return;
  for (const int index : *order) VisitNode(model, graph.nodes(index), prefix, visit);
}

void VisitNode(const v1::ModelGraph& model, const v1::Node& node, const std::string& prefix,
               const std::function<void(const std::string&, const v1::Node&)>& visit) {
  const std::string path = JoinPath(prefix, ModuleOf(node));
  visit(path, node);
  const auto visit_all = [&](const auto& inner) {
    for (const v1::Node& one : inner) VisitNode(model, one, path, visit);
  };
  switch (node.kind_case()) {
    case v1::Node::kCell:
      return VisitGraph(model, *FindGraph(model, node.cell().graph()), path, visit);
    case v1::Node::kTrainingSwitch:
      VisitGraph(model, *FindGraph(model, node.training_switch().training()), prefix, visit);
      return VisitGraph(model, *FindGraph(model, node.training_switch().evaluation()), prefix, visit);
    case v1::Node::kLayerChoice:
      return visit_all(node.layer_choice().candidates());
    case v1::Node::kRepeat:
      return visit_all(node.repeat().blocks());
    case v1::Node::kNasCell:
      return visit_all(node.nas_cell().op_candidates());
    default:
      return;
  }
}

}  // namespace

const v1::Graph* FindGraph(const v1::ModelGraph& model, absl::string_view name) {
  for (const v1::Graph& graph : model.graphs()) {
    if (graph.name() == name) return &graph;
  }
  return nullptr;
}

v1::Graph* FindGraph(v1::ModelGraph* model, absl::string_view name) {
  return const_cast<v1::Graph*>(FindGraph(const_cast<const v1::ModelGraph&>(*model), name));
}

const v1::Graph& RootGraph(const v1::ModelGraph& model) {
  return model.root().empty() ? model.graphs(0) : *FindGraph(model, model.root());
}

const std::string& ModuleOf(const v1::Node& node) { return node.module().empty() ? node.name() : node.module(); }

std::string ClassOf(absl::string_view graph_name) { return std::string(graph_name.substr(0, graph_name.find('#'))); }

std::string JoinPath(absl::string_view prefix, absl::string_view name) {
  return prefix.empty() ? std::string(name) : absl::StrCat(prefix, ".", name);
}

absl::StatusOr<std::vector<int>> ExecutionOrder(const v1::Graph& graph) {
  std::unordered_map<std::string, int> index_of;
  for (const v1::Port& port : graph.inputs()) index_of[port.name()] = -1;
  for (int i = 0; i < graph.nodes_size(); ++i) index_of[graph.nodes(i).name()] = i;

  std::vector<std::vector<int>> readers(graph.nodes_size());
  std::vector<int> missing(graph.nodes_size(), 0);
  for (int i = 0; i < graph.nodes_size(); ++i) {
    for (const v1::Edge& edge : graph.nodes(i).inputs()) {
      const auto source = index_of.find(edge.node());
      if (source == index_of.end()) {
        return absl::InvalidArgumentError(absl::StrCat("node '", graph.nodes(i).name(), "' reads from '", edge.node(),
                                                       "', and graph '", graph.name(),
                                                       "' has no node or input of that name"));
      }
      if (source->second < 0) continue;
      readers[source->second].push_back(i);
      ++missing[i];
    }
  }
  // Takes the first of the nodes that are ready: an order that is topological already does not change.
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int i = 0; i < graph.nodes_size(); ++i) {
    if (missing[i] == 0) ready.push(i);
  }
  std::vector<int> order;
  order.reserve(graph.nodes_size());
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const int reader : readers[node]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  if (static_cast<int>(order.size()) == graph.nodes_size()) return order;

  // Every node that is left waits for another one, so walking back from any of them ends in a cycle.
  int node = 0;
  while (missing[node] == 0) ++node;
  std::unordered_map<int, int> seen;
  std::vector<int> walk;
  while (seen.emplace(node, walk.size()).second) {
    walk.push_back(node);
    for (const v1::Edge& edge : graph.nodes(node).inputs()) {
      const int source = index_of[edge.node()];
      if (source >= 0 && missing[source] > 0) {
        node = source;
        break;
      }
    }
  }
  std::string cycle = graph.nodes(node).name();
  for (size_t i = walk.size(); i-- > static_cast<size_t>(seen[node]);) {
    absl::StrAppend(&cycle, " -> ", graph.nodes(walk[i]).name());
    if (cycle.size() > 200) {
      absl::StrAppend(&cycle, " -> ...");
      break;
    }
  }
  return absl::InvalidArgumentError(absl::StrCat("graph '", graph.name(), "' has a cycle: ", cycle));
}

void VisitNodes(const v1::ModelGraph& model,
                const std::function<void(const std::string& path, const v1::Node& node)>& visit) {
  VisitGraph(model, RootGraph(model), "", visit);
}

}  // namespace lanista::graph
