// The CGO engine in the trial process: it builds models like the direct or the graph engine, as the space needs.
#include <memory>
#include <optional>
#include <vector>

#include "engines/model_builder.h"
#include "src/base/status.h"
#include "src/nn/model_space.h"

namespace lanista {
namespace {

// Registered C++ model spaces are built by the direct engine's builder, all others by the graph engine's.
class CgoModelBuilder final : public ModelBuilder {
 public:
  absl::StatusOr<v1::SpaceSpec> Discover(const v1::SpaceConfig& space, const DiscoveryOptions& options) override {
    LANISTA_ASSIGN_OR_RETURN(const auto builder, BuilderFor(space));
    return builder->Discover(space, options);
  }

  absl::StatusOr<std::optional<v1::PreparedGraphSpace>> GraphSpace(const v1::SpaceConfig& space) override {
    LANISTA_ASSIGN_OR_RETURN(const auto builder, BuilderFor(space));
    return builder->GraphSpace(space);
  }

  absl::StatusOr<std::vector<v1::FileDigest>> Files(const v1::SpaceConfig& space) override {
    LANISTA_ASSIGN_OR_RETURN(const auto builder, BuilderFor(space));
    return builder->Files(space);
  }

  absl::StatusOr<BuiltModel> Build(const v1::SpaceConfig& space, const v1::Sample& sample,
                                   uint64_t model_seed) override {
    LANISTA_ASSIGN_OR_RETURN(const auto builder, BuilderFor(space));
    return builder->Build(space, sample, model_seed);
  }

 private:
  ModelBuilderRegistry::Result BuilderFor(const v1::SpaceConfig& space) const {
    v1::EngineConfig engine;
    if (space.kind_case() == v1::SpaceConfig::kRegistered && space.mutator().empty() &&
        nn::ModelSpaceRegistry::Get().Find(space.registered()) != nullptr) {
      engine.mutable_direct();
    } else {
      engine.mutable_graph();
    }
    auto builder = ModelBuilderRegistry::Get().Create(engine);
    if (builder.ok()) (*builder)->set_data(data());
    return builder;
  }
};

ModelBuilderRegistry::Result MakeCgoModelBuilder(const v1::CgoEngineConfig&) {
  return std::make_unique<CgoModelBuilder>();
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(ModelBuilderRegistry, cgo, v1::CgoEngineConfig, MakeCgoModelBuilder);

}  // namespace lanista
