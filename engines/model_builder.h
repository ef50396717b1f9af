// The half of an engine that runs in the trial process: learns a space, builds models from samples.
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
#include "src/nn/model.h"
#include "src/space/discovery.h"

namespace lanista {

// A model and the choices that it really asked for (those of its sample, and any that the space did not know of).
struct BuiltModel {
  std::shared_ptr<nn::Model> model;
  v1::Sample actual_sample;
};

// Each engine registers one. Used by the trial process's main thread.
class ModelBuilder {
 public:
  virtual ~ModelBuilder() = default;

  // What models get and give, where the evaluator says: for spaces that follow the data. Before Discover and Build.
  void set_data(std::optional<v1::DataSpec> data) { data_ = std::move(data); }

  // The space's choices; NOT_FOUND names the known spaces. Exceptions of the space's constructor count as candidates
  // that cannot be built.
  virtual absl::StatusOr<v1::SpaceSpec> Discover(const v1::SpaceConfig& space, const DiscoveryOptions& options) = 0;

  // The space as graphs, for whoever plans; nullopt where it is none of graphs. Called after Discover.
  virtual absl::StatusOr<std::optional<v1::PreparedGraphSpace>> GraphSpace(const v1::SpaceConfig& /*space*/) {
    return std::nullopt;
  }

  // The files that the space was read from, with the digests of what was read: Discover puts them into its answer.
  virtual absl::StatusOr<std::vector<v1::FileDigest>> Files(const v1::SpaceConfig& /*space*/) {
    return std::vector<v1::FileDigest>();
  }

  // The model of `sample`, on the CPU, in training mode, its weights drawn from LibTorch's default generator as it
  // stands. Labels that `sample` lacks are drawn from `model_seed`. INVALID_ARGUMENT names the label where sample and
  // space disagree; what the constructor throws passes through.
  virtual absl::StatusOr<BuiltModel> Build(const v1::SpaceConfig& space, const v1::Sample& sample,
                                           uint64_t model_seed) = 0;

 protected:
  const std::optional<v1::DataSpec>& data() const { return data_; }

 private:
  std::optional<v1::DataSpec> data_;
};

using ModelBuilderRegistry = Registry<ModelBuilder>;

}  // namespace lanista

#endif  // LANISTA_ENGINES_MODEL_BUILDER_H_
