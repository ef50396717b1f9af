// The half of an engine that runs in the trial process: it learns a space and builds models from samples.
#ifndef LANISTA_ENGINES_MODEL_BUILDER_H_
#define LANISTA_ENGINES_MODEL_BUILDER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "protos/trial.pb.h"
#include "src/base/registry.h"
#include "src/space/discovery.h"

namespace lanista {

namespace nn {
class Model;
}  // namespace nn

// A model, and the choices that it actually asked for (those of its sample, and any that the space did not know).
struct BuiltModel {
  std::shared_ptr<nn::Model> model;
  v1::Sample actual_sample;
};

// Each engine registers one. Used by the main thread of the trial process.
class ModelBuilder {
 public:
  virtual ~ModelBuilder() = default;

  // The shapes of the models' inputs and outputs, if the evaluator's data determines them: for spaces that adapt to the
  // data. Call it before Discover and Build.
  void set_data(std::optional<v1::DataSpec> data) { data_ = std::move(data); }

  // The space's choices; NOT_FOUND names the known spaces. An exception of the space's constructor means that a
  // candidate cannot be built.
  virtual absl::StatusOr<v1::SpaceSpec> Discover(const v1::SpaceConfig& space, const DiscoveryOptions& options) = 0;

  // The space as graphs, for the planner; nullopt if it is not a space of graphs. Called after Discover.
  virtual absl::StatusOr<std::optional<v1::PreparedGraphSpace>> GraphSpace(const v1::SpaceConfig& /*space*/) {
    return std::nullopt;
  }

  // The files that the space was read from, with the digests of the bytes that were read. Discover includes them in its
  // result.
  virtual absl::StatusOr<std::vector<v1::FileDigest>> Files(const v1::SpaceConfig& /*space*/) {
    return std::vector<v1::FileDigest>();
  }

  // The model of `sample`, on the CPU, in training mode. Its weights are drawn from LibTorch's default generator in its
  // current state. Labels that `sample` lacks are drawn from `model_seed`. INVALID_ARGUMENT names the label if sample
  // and space disagree; exceptions of the constructor pass through.
  virtual absl::StatusOr<BuiltModel> Build(const v1::SpaceConfig& space, const v1::Sample& sample,
                                           uint64_t model_seed) = 0;

 protected:
  const std::optional<v1::DataSpec>& data() const { return data_; }

 private:
  std::optional<v1::DataSpec> data_;
};

using ModelBuilderRegistry = Registry<ModelBuilder, v1::EngineConfig>;

}  // namespace lanista

#endif  // LANISTA_ENGINES_MODEL_BUILDER_H_
