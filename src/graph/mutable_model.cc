#include "src/graph/mutable_model.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/spelling.h"
#include "src/base/status.h"
#include "src/graph/graph.h"

namespace lanista::graph {
namespace {

// The way to a node from the root: indices of nodes, of candidates within a choice, of a switch's two graphs.
using Trail = std::vector<int>;

// Candidates or blocks of a choice; nullptr for other nodes.
google::protobuf::RepeatedPtrField<v1::Node>* InnerNodes(v1::Node* node) {
  switch (node->kind_case()) {
    case v1::Node::kLayerChoice:
      return node->mutable_layer_choice()->mutable_candidates();
    case v1::Node::kRepeat:
      return node->mutable_repeat()->mutable_blocks();
    case v1::Node::kNasCell:
      return node->mutable_nas_cell()->mutable_op_candidates();
    default:
      return nullptr;
  }
}

using Matches = std::function<bool(const std::string& path, const v1::Node& node)>;

// Collects the trails of the nodes that match.
class TrailFinder {
 public:
  TrailFinder(v1::ModelGraph* model, Matches matches) : model_(model), matches_(std::move(matches)) {}

  std::vector<std::pair<Trail, std::string>> Run(v1::Graph* root) {
    InGraph(root, "");
    return std::move(found_);
  }

 private:
  void InGraph(v1::Graph* graph, const std::string& prefix) {
    if (graph == nullptr) return;
    for (int i = 0; i < graph->nodes_size(); ++i) At(i, graph->mutable_nodes(i), prefix);
  }

  void At(int step, v1::Node* node, const std::string& prefix) {
    trail_.push_back(step);
    const std::string path = JoinPath(prefix, ModuleOf(*node));
    if (matches_(path, *node)) found_.emplace_back(trail_, path);
    if (node->has_cell()) {
      InGraph(FindGraph(model_, node->cell().graph()), path);
    } else if (node->has_training_switch()) {
      for (const int arm : {0, 1}) {
        trail_.push_back(arm);
        const v1::TrainingSwitch& both = node->training_switch();
        InGraph(FindGraph(model_, arm == 0 ? both.training() : both.evaluation()), prefix);
        trail_.pop_back();
      }
    } else if (auto* const inner = InnerNodes(node); inner != nullptr) {
      for (int i = 0; i < inner->size(); ++i) At(i, inner->Mutable(i), path);
    }
    trail_.pop_back();
  }

  v1::ModelGraph* const model_;
  const Matches matches_;
  Trail trail_;
  std::vector<std::pair<Trail, std::string>> found_;
};

// Whether a path matches: "*" stands for one part, "**" for any number of them.
bool MatchesPattern(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  constexpr size_t kNone = std::string::npos;
  size_t p = 0, i = 0;
  // The last "**", and where the parts behind it begin. Earlier ones need no other length: this one can make up for it.
  size_t last = kNone, behind = 0;
  while (i < path.size()) {
    if (p < pattern.size() && pattern[p] == "**") {
      last = p++;
      behind = i;
    } else if (p < pattern.size() && (pattern[p] == "*" || pattern[p] == path[i])) {
      ++p;
      ++i;
    } else if (last != kNone) {
      p = last + 1;
      i = ++behind;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == "**") ++p;
  return p == pattern.size();
}

absl::Status NothingMatches(const std::string& target, std::vector<std::string> paths) {
  std::sort(paths.begin(), paths.end());
  paths.erase(std::unique(paths.begin(), paths.end()), paths.end());
  constexpr size_t kNear = 5;
  const size_t shown = std::min(kNear, paths.size());
  std::partial_sort(paths.begin(), paths.begin() + static_cast<int64_t>(shown), paths.end(),
                    [&target](const std::string& a, const std::string& b) {
                      return std::make_pair(EditDistance(a, target), a) < std::make_pair(EditDistance(b, target), b);
                    });
  paths.resize(shown);
  return absl::NotFoundError(absl::StrCat("no node matches '", target, "'", paths.empty() ? "" : "; near: ",
                                          absl::StrJoin(paths, ", "), "; `lanista show-graph` lists them all"));
}

}  // namespace

MutableModel::MutableModel(v1::ModelGraph model, OpLookup find_op) : model_(std::move(model)), find_op_(find_op) {}

absl::StatusOr<std::vector<NodeHandle>> MutableModel::Find(const std::string& path) {
  const std::vector<std::string> pattern = absl::StrSplit(path, '.');
  std::vector<std::string> all_paths;
  constexpr size_t kMaxPaths = 100000;
  const auto found = Select([&](const std::string& node_path, const v1::Node&) {
    if (all_paths.size() < kMaxPaths) all_paths.push_back(node_path);
    return MatchesPattern(pattern, absl::StrSplit(node_path, '.'));
  });
  if (found.empty()) return NothingMatches(path, std::move(all_paths));
  return found;
}

std::vector<NodeHandle> MutableModel::FindType(absl::string_view type) {
  return Select([type](const std::string&, const v1::Node& node) {
    return (node.has_op() && node.op().type() == type) || (node.has_cell() && ClassOf(node.cell().graph()) == type) ||
           (node.has_opaque() && node.opaque().type() == type);
  });
}

std::vector<NodeHandle> MutableModel::Select(const NodePredicate& matches) {
  v1::Graph* const root = FindGraph(&model_, RootGraph(model_).name());
  std::vector<NodeHandle> handles;
  for (const auto& [trail, path] : TrailFinder(&model_, matches).Run(root)) {
    NodeHandle handle{root, nullptr, path};
    auto* nodes = root->mutable_nodes();
    for (size_t i = 0; i < trail.size(); ++i) {
      handle.node = nodes->Mutable(trail[i]);
      if (i + 1 == trail.size()) break;
      if (auto* const inner = InnerNodes(handle.node); inner != nullptr) {
        nodes = inner;
        continue;
      }
      std::string* called = nullptr;
      if (handle.node->has_cell()) {
        called = handle.node->mutable_cell()->mutable_graph();
      } else {
        v1::TrainingSwitch* const both = handle.node->mutable_training_switch();
        called = trail[++i] == 0 ? both->mutable_training() : both->mutable_evaluation();
      }
      handle.graph = OwnGraph(called);
      nodes = handle.graph->mutable_nodes();
    }
    handles.push_back(std::move(handle));
  }
  return handles;
}

v1::Graph* MutableModel::OwnGraph(std::string* called) {
  int callers = 0;
  const std::function<void(const v1::Node&)> count = [&](const v1::Node& node) {
    callers += node.cell().graph() == *called;
    callers += node.training_switch().training() == *called;
    callers += node.training_switch().evaluation() == *called;
    if (auto* const inner = InnerNodes(const_cast<v1::Node*>(&node)); inner != nullptr) {
      for (const v1::Node& one : *inner) count(one);
    }
  };
  for (const v1::Graph& graph : model_.graphs()) {
    for (const v1::Node& node : graph.nodes()) count(node);
  }
  if (callers > 1) *called = AddGraph(*FindGraph(model_, *called));
  return FindGraph(&model_, *called);
}

absl::Status MutableModel::SetAttribute(const NodeHandle& at, const std::string& name, v1::Value value) {
  if (const auto old = GetAttribute(at, name); !old.ok()) return old.status();
  for (v1::Attribute& attribute : *at.node->mutable_op()->mutable_attr()) {
    if (attribute.key() != name) continue;
    *attribute.mutable_value() = std::move(value);
    return absl::OkStatus();
  }
  v1::Attribute* const attribute = at.node->mutable_op()->add_attr();
  attribute->set_key(name);
  *attribute->mutable_value() = std::move(value);
  return absl::OkStatus();
}

absl::StatusOr<v1::Value> MutableModel::GetAttribute(const NodeHandle& at, const std::string& name) const {
  if (!at.node->has_op()) {
    return absl::InvalidArgumentError(absl::StrCat("node '", at.path, "' is no operator: it has no attributes"));
  }
  const OpSchema* const schema = find_op_(at.node->op().type());
  if (schema != nullptr && schema->FindAttribute(name) == nullptr) {
    const std::string known =
        absl::StrJoin(schema->attributes(), ", ", [](std::string* out, const AttributeSpec& s) { *out += s.name; });
    return absl::InvalidArgumentError(absl::StrCat("node '", at.path, "' (", at.node->op().type(),
                                                   ") has no attribute '", name, "'; it has ", known));
  }
  for (const v1::Attribute& attribute : at.node->op().attr()) {
    if (attribute.key() == name) return attribute.value();
  }
  if (schema != nullptr) return Attributes(*schema, at.node->op()).Get(name);
  return absl::InvalidArgumentError(
      absl::StrCat("node '", at.path, "' (", at.node->op().type(), ") does not set '", name, "'"));
}

absl::Status MutableModel::Replace(const NodeHandle& at, const v1::Node& replacement) {
  if (replacement.kind_case() == v1::Node::KIND_NOT_SET) {
    return absl::InvalidArgumentError(absl::StrCat("node '", at.path, "' cannot be replaced by one that does nothing"));
  }
  v1::Node node = replacement;
  node.set_name(at.node->name());
  node.set_module(at.node->module());
  *node.mutable_inputs() = at.node->inputs();
  *at.node = std::move(node);
  return absl::OkStatus();
}

absl::Status MutableModel::CheckNew(const NodeHandle& at, const v1::Node& node) const {
  if (node.name().empty() || FreeName(*at.graph, node.name()) != node.name()) {
    return absl::InvalidArgumentError(
        absl::StrCat("a node beside '", at.path, "' cannot be named '", node.name(), "': use FreeName"));
  }
  return absl::OkStatus();
}

int MutableModel::PlaceOf(const NodeHandle& at) {
  const auto& nodes = at.graph->nodes();
  const auto is_it = [&at](const v1::Node& node) { return &node == at.node; };
  return static_cast<int>(std::find_if(nodes.begin(), nodes.end(), is_it) - nodes.begin());
}

void MutableModel::AddAt(v1::Graph* graph, int place, v1::Node node) {
  *graph->add_nodes() = std::move(node);
  for (int i = graph->nodes_size() - 1; i > place; --i) graph->mutable_nodes()->SwapElements(i, i - 1);
}

void MutableModel::AddBefore(const NodeHandle& at, v1::Node node) { AddAt(at.graph, PlaceOf(at), std::move(node)); }

absl::Status MutableModel::InsertAfter(const NodeHandle& at, v1::Node node) {
  LANISTA_RETURN_IF_ERROR(CheckNew(at, node));
  const auto redirect = [&](google::protobuf::RepeatedPtrField<v1::Edge>* edges) {
    for (v1::Edge& edge : *edges) {
      if (edge.node() == at.node->name() && edge.slot() == 0) edge.set_node(node.name());
    }
  };
  for (v1::Node& reader : *at.graph->mutable_nodes()) redirect(reader.mutable_inputs());
  redirect(at.graph->mutable_outputs());
  node.clear_inputs();
  node.add_inputs()->set_node(at.node->name());
  AddAt(at.graph, PlaceOf(at) + 1, std::move(node));
  return absl::OkStatus();
}

absl::Status MutableModel::CheckInput(const NodeHandle& at, int index) {
  if (index >= 0 && index < at.node->inputs_size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("node '", at.path, "' has ", at.node->inputs_size(), " inputs, and none of number ", index));
}

absl::Status MutableModel::InsertBefore(const NodeHandle& at, v1::Node node, int index) {
  LANISTA_RETURN_IF_ERROR(CheckNew(at, node));
  LANISTA_RETURN_IF_ERROR(CheckInput(at, index));
  v1::Edge* const edge = at.node->mutable_inputs(index);
  node.clear_inputs();
  v1::Edge* const source = node.add_inputs();
  source->set_node(edge->node());
  source->set_slot(edge->slot());
  edge->set_node(node.name());
  edge->set_slot(0);
  AddBefore(at, std::move(node));
  return absl::OkStatus();
}

absl::Status MutableModel::Remove(const NodeHandle& at) {
  if (at.node->inputs().empty()) {
    return absl::InvalidArgumentError(absl::StrCat("node '", at.path, "' has no input that could take its place"));
  }
  const std::string name = at.node->name();
  const v1::Edge source = at.node->inputs(0);
  const auto redirect = [&](google::protobuf::RepeatedPtrField<v1::Edge>* edges) -> absl::Status {
    for (v1::Edge& edge : *edges) {
      if (edge.node() != name) continue;
      if (edge.slot() != 0) {
        return absl::InvalidArgumentError(absl::StrCat("slot ", edge.slot(), " of node '", at.path, "' is read"));
      }
      edge.set_node(source.node());
      edge.set_slot(source.slot());
    }
    return absl::OkStatus();
  };
  v1::Graph changed = *at.graph;
  for (v1::Node& reader : *changed.mutable_nodes()) LANISTA_RETURN_IF_ERROR(redirect(reader.mutable_inputs()));
  LANISTA_RETURN_IF_ERROR(redirect(changed.mutable_outputs()));
  auto* const nodes = changed.mutable_nodes();
  nodes->erase(std::remove_if(nodes->begin(), nodes->end(), [&](const v1::Node& n) { return n.name() == name; }),
               nodes->end());
  *at.graph = std::move(changed);
  return absl::OkStatus();
}

absl::Status MutableModel::Rewire(const NodeHandle& at, int index, v1::Edge source) {
  LANISTA_RETURN_IF_ERROR(CheckInput(at, index));
  source.set_arg(at.node->inputs(index).arg());
  *at.node->mutable_inputs(index) = std::move(source);
  return absl::OkStatus();
}

std::string MutableModel::FreeName(const v1::Graph& graph, const std::string& wish) const {
  std::set<std::string> taken;
  for (const v1::Port& port : graph.inputs()) taken.insert(port.name());
  for (const v1::Node& node : graph.nodes()) taken.insert(node.name());
  std::string name = wish;
  for (int number = 2; taken.count(name) > 0; ++number) name = absl::StrCat(wish, "_", number);
  return name;
}

std::string MutableModel::AddGraph(v1::Graph graph) {
  const std::string wish = ClassOf(graph.name());
  for (int number = 2; FindGraph(model_, graph.name()) != nullptr; ++number) {
    graph.set_name(absl::StrCat(wish, "#", number));
  }
  *model_.add_graphs() = graph;
  return graph.name();
}

v1::Node MutableModel::AddModel(const v1::ModelGraph& added) {
  std::vector<int> archives;
  for (const v1::Archive& archive : added.archives()) archives.push_back(AddArchive(archive));
  // Graphs call each other, so all names are made first.
  std::map<std::string, std::string> names;
  for (const v1::Graph& graph : added.graphs()) {
    v1::Graph empty;
    empty.set_name(graph.name());
    names[graph.name()] = AddGraph(std::move(empty));
  }
  const std::function<void(v1::Node*)> rename = [&](v1::Node* node) {
    if (node->has_cell()) node->mutable_cell()->set_graph(names.at(node->cell().graph()));
    if (node->has_training_switch()) {
      v1::TrainingSwitch* const both = node->mutable_training_switch();
      both->set_training(names.at(both->training()));
      both->set_evaluation(names.at(both->evaluation()));
    }
    if (node->has_opaque()) node->mutable_opaque()->set_archive(archives.at(node->opaque().archive()));
    if (node->has_weights()) node->mutable_weights()->set_archive(archives.at(node->weights().archive()));
    if (auto* const inner = InnerNodes(node); inner != nullptr) {
      for (v1::Node& one : *inner) rename(&one);
    }
  };
  for (v1::Graph graph : added.graphs()) {
    for (v1::Node& node : *graph.mutable_nodes()) rename(&node);
    const std::string name = names.at(graph.name());
    graph.set_name(name);
    *FindGraph(&model_, name) = std::move(graph);
  }
  model_.mutable_value_choices()->MergeFrom(added.value_choices());
  v1::Node cell;
  cell.mutable_cell()->set_graph(names.at(RootGraph(added).name()));
  return cell;
}

int MutableModel::AddArchive(const v1::Archive& archive) {
  for (int i = 0; i < model_.archives_size(); ++i) {
    const v1::Archive& known = model_.archives(i);
    if (known.path() == archive.path() && known.sha256() == archive.sha256()) return i;
  }
  *model_.add_archives() = archive;
  return model_.archives_size() - 1;
}

}  // namespace lanista::graph
