#include "src/graph/mutators/candidates.h"

#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista::graph {
namespace {

std::string DefaultName(const v1::LayerCandidateConfig& config) {
  switch (config.kind_case()) {
    case v1::LayerCandidateConfig::kOp:
      return config.op().type();
    case v1::LayerCandidateConfig::kModule:
      return std::filesystem::path(config.module().path()).stem().string();
    case v1::LayerCandidateConfig::kNode:
      return config.node();
    default:
      return "keep";
  }
}

}  // namespace

absl::StatusOr<LayerCandidates> LayerCandidates::Create(const Configs& configs, const ModuleReader& read_module) {
  if (configs.empty()) return absl::InvalidArgumentError("there must be at least one candidate");
  LayerCandidates candidates;
  candidates.configs_ = configs;
  for (const v1::LayerCandidateConfig& config : configs) {
    if (config.kind_case() == v1::LayerCandidateConfig::KIND_NOT_SET) {
      return absl::InvalidArgumentError("a candidate is empty: set keep, op, module or node");
    }
    if (!config.has_module()) continue;
    const std::string& path = config.module().path();
    LANISTA_ASSIGN_OR_RETURN(candidates.modules_[path], read_module(path));
  }
  return candidates;
}

absl::Status LayerCandidates::AddTo(const NodeHandle& at, MutableModel& model, Nodes* candidates) const {
  std::set<std::string> names;
  for (const v1::LayerCandidateConfig& config : configs_) {
    LANISTA_ASSIGN_OR_RETURN(v1::Node node, MakeNode(config, at, model));
    const std::string wish = config.has_name() ? config.name() : DefaultName(config);
    std::string name = wish;
    for (int number = 2; !names.insert(name).second; ++number) name = absl::StrCat(wish, "_", number);
    // A candidate takes over the inputs of the choice, and its module.
    node.clear_inputs();
    node.clear_module();
    node.set_name(name);
    *candidates->Add() = std::move(node);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Node> LayerCandidates::MakeNode(const v1::LayerCandidateConfig& config, const NodeHandle& at,
                                                   MutableModel& model) const {
  v1::Node node;
  switch (config.kind_case()) {
    case v1::LayerCandidateConfig::kOp:
      *node.mutable_op() = config.op();
      return node;
    case v1::LayerCandidateConfig::kModule: {
      const v1::ModelGraph& module = modules_.at(config.module().path());
      if (!config.module().opaque()) return model.AddModel(module);
      node.mutable_opaque()->set_archive(model.AddArchive(module.archives(0)));
      node.mutable_opaque()->set_type(module.name());
      return node;
    }
    case v1::LayerCandidateConfig::kNode: {
      LANISTA_ASSIGN_OR_RETURN(const std::vector<NodeHandle> found, model.Find(config.node()));
      return *found.front().node;
    }
    default:
      return *at.node;
  }
}

}  // namespace lanista::graph
