// layer_choice: a node becomes a choice between several.
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/graph/graph.h"
#include "src/graph/mutator.h"
#include "src/graph/mutators/targets.h"

namespace lanista::graph {
namespace {

// Adds the graphs and archives of `module` to `model` and returns a node that runs it.
v1::Node MergeModule(const v1::ModelGraph& module, MutableModel& model) {
  std::map<int, int> archives;
  for (int i = 0; i < module.archives_size(); ++i) archives[i] = model.AddArchive(module.archives(i));
  std::map<std::string, std::string> names;
  for (const v1::Graph& graph : module.graphs()) {
    v1::Graph empty;
    empty.set_name(graph.name());
    names[graph.name()] = model.AddGraph(std::move(empty));
  }
  for (v1::Graph graph : module.graphs()) {
    for (v1::Node& node : *graph.mutable_nodes()) {
      if (node.has_cell()) node.mutable_cell()->set_graph(names.at(node.cell().graph()));
      if (node.has_training_switch()) {
        v1::TrainingSwitch* const both = node.mutable_training_switch();
        both->set_training(names.at(both->training()));
        both->set_evaluation(names.at(both->evaluation()));
      }
      if (node.has_opaque()) node.mutable_opaque()->set_archive(archives.at(node.opaque().archive()));
      if (node.has_weights()) node.mutable_weights()->set_archive(archives.at(node.weights().archive()));
    }
    const std::string name = names.at(graph.name());
    graph.set_name(name);
    *FindGraph(&model.mutable_model(), name) = std::move(graph);
  }
  v1::Node cell;
  cell.mutable_cell()->set_graph(names.at(RootGraph(module).name()));
  return cell;
}

class LayerChoice final : public Mutator {
 public:
  LayerChoice(v1::LayerChoiceMutator config, ModuleReader read_module)
      : config_(std::move(config)), read_module_(std::move(read_module)) {}

  // Reads the modules: once, not for every model.
  absl::Status Prepare() {
    if (config_.candidate().empty()) return absl::InvalidArgumentError("layer_choice needs at least one candidate");
    for (const v1::LayerCandidateConfig& candidate : config_.candidate()) {
      if (!candidate.has_module()) continue;
      const std::string& path = candidate.module().path();
      LANISTA_ASSIGN_OR_RETURN(modules_[path], read_module_(path));
    }
    return absl::OkStatus();
  }

  absl::Status Mutate(MutableModel& model, Chooser&) const override {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> targets,
                             FindTargets(model, config_.target(), FilterOf(config_)));
    for (const NodeHandle& at : targets) {
      v1::Node choice;
      choice.mutable_layer_choice()->set_label(config_.has_label() ? config_.label() : at.path);
      std::set<std::string> names;
      for (const v1::LayerCandidateConfig& candidate : config_.candidate()) {
        LANISTA_ASSIGN_OR_RETURN(v1::Node node, MakeCandidate(candidate, at, model));
        const std::string wish = candidate.has_name() ? candidate.name() : DefaultName(candidate);
        std::string name = wish;
        for (int number = 2; !names.insert(name).second; ++number) name = absl::StrCat(wish, "_", number);
        node.set_name(name);
        *choice.mutable_layer_choice()->add_candidates() = std::move(node);
      }
      LANISTA_RETURN_IF_ERROR(model.Replace(at, choice));
    }
    return absl::OkStatus();
  }

 private:
  static std::string DefaultName(const v1::LayerCandidateConfig& candidate) {
    switch (candidate.kind_case()) {
      case v1::LayerCandidateConfig::kOp:
        return candidate.op().type();
      case v1::LayerCandidateConfig::kModule:
        return std::filesystem::path(candidate.module().path()).stem().string();
      case v1::LayerCandidateConfig::kNode:
        return candidate.node();
      default:
        return "keep";
    }
  }

  absl::StatusOr<v1::Node> MakeCandidate(const v1::LayerCandidateConfig& candidate, const NodeHandle& at,
                                         MutableModel& model) const {
    v1::Node node;
    switch (candidate.kind_case()) {
      case v1::LayerCandidateConfig::kKeep:
        node = *at.node;
        break;
      case v1::LayerCandidateConfig::kOp:
        *node.mutable_op() = candidate.op();
        break;
      case v1::LayerCandidateConfig::kModule: {
        const v1::ModelGraph& module = modules_.at(candidate.module().path());
        if (!candidate.module().opaque()) {
          node = MergeModule(module, model);
          break;
        }
        node.mutable_opaque()->set_archive(model.AddArchive(module.archives(0)));
        node.mutable_opaque()->set_type(module.name());
        break;
      }
      case v1::LayerCandidateConfig::kNode: {
        LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> found, model.Find(candidate.node()));
        node = *found.front().node;
        break;
      }
      default:
        return absl::InvalidArgumentError("a candidate is empty: set keep, op, module or node");
    }
    // A candidate takes the choice's place: inputs, and who shares it.
    node.clear_inputs();
    node.clear_module();
    return node;
  }

  const v1::LayerChoiceMutator config_;
  const ModuleReader read_module_;
  std::map<std::string, v1::ModelGraph> modules_;
};

MutatorRegistry::Result MakeLayerChoice(const v1::LayerChoiceMutator& config, const v1::MutatorConfig& whole,
                                        const ModuleReader& read_module) {
  if (!whole.also().empty()) return absl::InvalidArgumentError("`also` belongs to a value_choice");
  auto mutator = std::make_unique<LayerChoice>(config, read_module);
  LANISTA_RETURN_IF_ERROR(mutator->Prepare());
  return mutator;
}

LANISTA_REGISTER(MutatorRegistry, layer_choice, v1::LayerChoiceMutator, MakeLayerChoice);

}  // namespace
}  // namespace lanista::graph
