// The graph engine in the trial process: learns a graph space, and builds its models as modules that run node by node.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "engines/graph/graph_space_torch.h"
#include "engines/model_builder.h"
#include "src/base/status.h"
#include "src/runtime/graph_module_torch.h"
#include "src/space/space.h"

namespace lanista {
namespace {

class GraphModelBuilder final : public ModelBuilder {
 public:
  absl::StatusOr<v1::SpaceSpec> Discover(const v1::SpaceConfig& config, const DiscoveryOptions& options) override {
    LANISTA_ASSIGN_OR_RETURN(const auto space, OpenGraphSpace(config));
    LANISTA_ASSIGN_OR_RETURN(
        v1::SpaceSpec spec,
        DiscoverSpace([&space](const v1::Sample& assignment) { return Trace(*space, assignment); }, options));
    for (const std::string& warning : space->base().warnings()) spec.add_warnings(warning);
    LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::FileDigest> files, GraphSpaceFiles(config));
    for (const v1::FileDigest& file : files) *spec.add_files() = file;
    return spec;
  }

  absl::StatusOr<std::optional<v1::PreparedGraphSpace>> GraphSpace(const v1::SpaceConfig& config) override {
    LANISTA_ASSIGN_OR_RETURN(const auto space, OpenGraphSpace(config));
    return space->Prepared();
  }

  absl::StatusOr<std::vector<v1::FileDigest>> Files(const v1::SpaceConfig& config) override {
    return GraphSpaceFiles(config);
  }

  absl::StatusOr<BuiltModel> Build(const v1::SpaceConfig& config, const v1::Sample& sample,
                                   uint64_t model_seed) override {
    LANISTA_ASSIGN_OR_RETURN(const auto space, OpenGraphSpace(config));
    BuiltModel built;
    LANISTA_ASSIGN_OR_RETURN(const v1::ModelGraph model,
                             MaterialiseSample(*space, sample, model_seed, &built.actual_sample));
    runtime::GraphModule::Options options;
    if (config.weights() != v1::SpaceConfig::WEIGHTS_UNSPECIFIED) options.weights = config.weights();
    LANISTA_ASSIGN_OR_RETURN(built.model, runtime::GraphModule::Create(model, options));
    return built;
  }

 private:
  // One run for discovery. A model that does not fit together means that a candidate cannot be built.
  static absl::StatusOr<ConstructionTrace> Trace(const graph::GraphSpace& space, const v1::Sample& assignment) {
    std::map<std::string, v1::Decision> decisions;
    for (const v1::Decision& decision : assignment.decisions()) decisions[decision.label()] = decision;
    graph::Chooser chooser([&](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
      const auto found = decisions.find(choice.label());
      return found == decisions.end() ? MakeDecision(choice, 0) : found->second;
    });
    ConstructionTrace trace;
    const absl::StatusOr<v1::ModelGraph> model = space.Materialise(chooser);
    if (!model.ok()) trace.error = std::string(model.status().message());
    for (const auto& asked : chooser.asked()) {
      trace.asked.push_back({asked.choice, OptionOf(asked.choice, asked.decision)});
    }
    return trace;
  }
};

ModelBuilderRegistry::Result MakeGraphModelBuilder(const v1::GraphEngineConfig&) {
  return std::make_unique<GraphModelBuilder>();
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(ModelBuilderRegistry, graph, v1::GraphEngineConfig, MakeGraphModelBuilder);

}  // namespace lanista
