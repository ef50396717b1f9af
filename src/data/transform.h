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

// One transform. Immutable: any number of threads may apply it.
class Transform {
 public:
  virtual ~Transform() = default;

  // From float32 [channels, height, width] to the same layout (resizing transforms change height and width). Must not
  // change `input`, which may be part of the dataset. If batchable(), also from and to [N, channels, height, width].
  virtual at::Tensor Apply(const at::Tensor& input, SampleRandom& random) const = 0;

  // Whether the whole dataset can be transformed at once, as [N, ...], with the same result: the transform is not
  // random, and works element by element or on each image alone.
  virtual bool batchable() const { return false; }

  // Describes the transform for users of a trained model; nullopt if it is random or they could not apply it.
  virtual std::optional<v1::Preprocessing> Describe() const { return std::nullopt; }

  // The output shape for an input shape (without N); INVALID_ARGUMENT if the transform does not fit it.
  virtual absl::StatusOr<std::vector<int64_t>> OutputShape(std::vector<int64_t> shape) const { return shape; }
};

// Factories take (config, splits): normalisation computes its statistics from the training split.
using TransformRegistry = Registry<Transform, v1::TransformConfig, const DataSplits&>;

// A sequence of transforms. Immutable: any number of threads may use it.
class TransformChain {
 public:
  // Makes all transforms of `configs`, in order. It is an error if a transform does not fit the shape of its input; the
  // first input has `splits.input_shape`. Errors name the transform's position, counted over all lists.
  static absl::StatusOr<std::shared_ptr<const TransformChain>> Create(
      const std::vector<google::protobuf::RepeatedPtrField<v1::TransformConfig>>& configs, const DataSplits& splits);

  // Applies all transforms to one sample, with random numbers from `seed`. If batchable(), also to a whole batch.
  at::Tensor Apply(at::Tensor input, uint64_t seed) const;

  // Whether there are no transforms.
  bool empty() const { return transforms_.empty(); }
  // Whether every transform is batchable.
  bool batchable() const;

  // Descriptions in order; a transform without one is described by its name.
  std::vector<v1::Preprocessing> Describe() const;

  // The output shape for an input shape (without N).
  absl::StatusOr<std::vector<int64_t>> OutputShape(std::vector<int64_t> shape) const;

 private:
  std::vector<std::unique_ptr<Transform>> transforms_;
  // The names that the configuration uses.
  std::vector<std::string> names_;
};

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_TRANSFORM_H_
