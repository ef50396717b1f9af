#include "engines/graph/graph_space_torch.h"

#include <map>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/frontends/torchscript.h"
#include "src/graph/graph.h"
#include "src/graph/io.h"
#include "src/graph/registered_graphs.h"
#include "src/nn/construction.h"
#include "src/nn/decide.h"
#include "src/ops/registry.h"

namespace lanista {
namespace {

absl::StatusOr<v1::ModelGraph> ReadBase(const v1::SpaceConfig& config) {
  switch (config.kind_case()) {
    case v1::SpaceConfig::kTorchscript:
      return frontends::ImportTorchScript(config.torchscript());
    case v1::SpaceConfig::kGraph:
      return graph::ReadFile(config.graph().path());
    case v1::SpaceConfig::kRegistered: {
      auto base = graph::MakeRegisteredGraph(config.registered(), config.params());
      if (!absl::IsNotFound(base.status())) return base;
      return Annotate(base.status(),
                      "the graph engine takes a space of graphs: torchscript { path }, graph { path } or "
                      "the name of one (a C++ model space needs `engine { direct {} }`)");
    }
    default:
      return absl::InvalidArgumentError(
          "the graph engine takes a space { torchscript { path } }, { graph { path } } or { registered: NAME }");
  }
}

absl::StatusOr<std::shared_ptr<const graph::GraphSpace>> MakeGraphSpace(const v1::SpaceConfig& config) {
  LANISTA_ASSIGN_OR_RETURN(v1::ModelGraph base, ReadBase(config));
  const graph::ModuleReader read_module = [&config](const std::string& path) {
    v1::TorchScriptConfig module;
    module.set_path(path);
    *module.mutable_basic_unit() = config.torchscript().basic_unit();
    return frontends::ImportTorchScript(module);
  };
  LANISTA_ASSIGN_OR_RETURN(graph::GraphSpace space,
                           graph::GraphSpace::Create(std::move(base), config, ops::FindOp, read_module));
  return std::make_shared<const graph::GraphSpace>(std::move(space));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const graph::GraphSpace>> OpenGraphSpace(const v1::SpaceConfig& config) {
  // One experiment's trials follow each other.
  static auto* const last = new std::pair<std::string, std::shared_ptr<const graph::GraphSpace>>;
  const std::string key = config.SerializeAsString();
  if (last->second == nullptr || last->first != key) {
    LANISTA_ASSIGN_OR_RETURN(last->second, MakeGraphSpace(config));
    last->first = key;
  }
  return last->second;
}

absl::StatusOr<v1::ModelGraph> MaterialiseSample(const graph::GraphSpace& space, const v1::Sample& sample,
                                                 uint64_t model_seed, v1::Sample* actual) {
  std::map<std::string, v1::Decision> decisions;
  for (const v1::Decision& decision : sample.decisions()) decisions[decision.label()] = decision;
  graph::Chooser chooser([&](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    const auto found = decisions.find(choice.label());
    try {
      return found == decisions.end() ? nn::DrawnDecision(choice, model_seed)
                                      : nn::CheckedDecision(choice, found->second);
    } catch (const nn::SpaceError& error) {
      return absl::InvalidArgumentError(error.what());
    }
  });
  absl::StatusOr<v1::ModelGraph> model = space.Materialise(chooser);
  if (model.ok()) *actual = chooser.sample();
  return model;
}

}  // namespace lanista
