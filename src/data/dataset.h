// Datasets: indexed samples, and the two datasets on which an evaluator trains and validates.
#ifndef LANISTA_SRC_DATA_DATASET_H_
#define LANISTA_SRC_DATA_DATASET_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "src/base/registry.h"

namespace lanista::data {

// One sample, or one batch of samples with a leading dimension N.
struct Example {
  // float32; images: [channels, height, width], tables: [features].
  at::Tensor input;
  // Classification: int64, []. Regression: float32, [targets].
  at::Tensor target;
};

// What a dataset predicts.
enum class Task { kClassification, kRegression };

// An indexed set of samples. Immutable: any number of threads may read it.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // Number of samples, at least 1.
  virtual int64_t size() const = 0;

  // Sample `index`, on the CPU. REQUIRES: 0 <= index < size(). Errors name the file (an image that became unreadable).
  virtual absl::StatusOr<Example> Get(int64_t index) const = 0;

  // All samples as one Example with a leading dimension, if they are in memory; else nullptr. Loaders then gather whole
  // batches from it. Both tensors are contiguous, on the CPU, and live as long as the dataset.
  virtual const Example* InMemory() const { return nullptr; }
};

// The data of an evaluator.
struct DataSplits {
  // What models are trained on.
  std::shared_ptr<const Dataset> train;
  // What they are scored on.
  std::shared_ptr<const Dataset> validation;
  // What is predicted.
  Task task = Task::kClassification;
  // Shape of one input (without N).
  std::vector<int64_t> input_shape;
  // Classification: number of classes. Regression: number of targets.
  int64_t outputs = 0;
  // Classification: names of the classes, if known.
  std::vector<std::string> class_names;
  // Tables: names of the features.
  std::vector<std::string> feature_names;
  // Regression: names of the targets, if known.
  std::vector<std::string> target_names;
  // Steps that were already applied to the inputs, so that users of a trained model can apply them too.
  std::vector<v1::Preprocessing> preprocessing;
};

// The parameters with which a dataset is opened.
struct DatasetRequest {
  // The same for all models of an experiment. Datasets divide into splits and draw synthetic samples with it if the
  // configuration has no seed of its own.
  uint64_t order_seed = 0;
  // What the evaluator predicts. It settles what the data leaves open: a target column of whole numbers may mean
  // classes or values.
  std::optional<Task> task;
};

// Factories take (config, request).
using DatasetRegistry = Registry<DataSplits, v1::DatasetConfig, const DatasetRequest&>;

// A dataset of samples in memory. REQUIRES: `all` holds float32 inputs, and targets as in Example, both on the CPU with
// the same leading dimension, at least 1; the tensors are not changed afterwards.
std::shared_ptr<const Dataset> MakeInMemoryDataset(Example all);

// Opens the dataset that `config` names; `task` is the one that the evaluator needs. NOT_FOUND names the missing files,
// the folder that was searched and, for images, the synthetic alternative. INVALID_ARGUMENT names file and place of
// corrupt data (truncated, not a number, NaN), or says that the dataset does not fit the task.
//
// Checks what every dataset must guarantee, users' own included: shapes and, for data in memory, finite numbers and
// classes below `outputs`.
absl::StatusOr<DataSplits> OpenDataset(const v1::DatasetConfig& config, uint64_t order_seed,
                                       std::optional<Task> task = std::nullopt);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_DATASET_H_
