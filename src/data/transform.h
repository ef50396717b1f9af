// Transforms: changes to one sample's input while it is loaded.
#ifndef LANISTA_SRC_DATA_TRANSFORM_H_
#define LANISTA_SRC_DATA_TRANSFORM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_field.h"
#include "protos/experiment.pb.h"
#include "src/base/registry.h"
#include "src/data/dataset.h"

namespace lanista::data {

// The random numbers of one sample in one epoch.
using SampleRandom = std::mt19937_64;

// Immutable: any number of threads may apply it.
class Transform {
 public:
  virtual ~Transform() = default;

  // [channels, height, width] float32 to the same kind (another height and width where that is its work), as a new
  // tensor: `input` may be part of the dataset. Where batchable(), [N, channels, height, width] too.
  virtual at::Tensor Apply(const at::Tensor& input, SampleRandom& random) const = 0;

  // Whether all samples of the dataset could be transformed at once, as [N, ...], with the same result: no randomness,
  // element by element or channel by channel.
  virtual bool batchable() const { return false; }

  // What it does, for users of a trained model; nullopt where it is random, or nothing that they could do.
  virtual std::optional<v1::Preprocessing> Describe() const { return std::nullopt; }

  // The shape that comes out for the shape that goes in; INVALID_ARGUMENT if it does not fit.
  virtual absl::StatusOr<std::vector<int64_t>> OutputShape(std::vector<int64_t> shape) const { return shape; }
};

// Factories take (config, the training split): normalisation learns its statistics from it.
using TransformRegistry = Registry<Transform, const DataSplits&>;

// Transforms in order.
class TransformChain {
 public:
  // Makes all of `configs`, in order; errors name the position, counted over all of them, and what does not fit
  // `splits.input_shape` is one.
  static absl::StatusOr<std::shared_ptr<const TransformChain>> Create(
      const std::vector<google::protobuf::RepeatedPtrField<v1::TransformConfig>>& configs, const DataSplits& splits);

  // Applies all of them to one sample whose randomness is `seed` (where batchable(): or to a whole batch).
  at::Tensor Apply(at::Tensor input, uint64_t seed) const;

  bool empty() const { return transforms_.empty(); }
  // Whether every transform is batchable.
  bool batchable() const;

  // What they do, in order; those that do not describe themselves by name.
  std::vector<v1::Preprocessing> Describe() const;

  // What becomes of an input of this shape.
  absl::StatusOr<std::vector<int64_t>> OutputShape(std::vector<int64_t> shape) const;

 private:
  std::vector<std::unique_ptr<Transform>> transforms_;
  // As the configuration calls them.
  std::vector<std::string> names_;
};

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_TRANSFORM_H_
