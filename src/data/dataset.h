// Datasets: indexed samples, and the pair of them that an evaluator trains and validates on.
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

// One sample, or one batch of them with a leading dimension N.
struct Example {
  // float32; images: [channels, height, width], tables: [features].
  at::Tensor input;
  // Classification: int64, []. Regression: float32, [targets].
  at::Tensor target;
};

// What a dataset predicts.
enum class Task { kClassification, kRegression };

// An indexed set of samples. Immutable: any number of threads may read.
class Dataset {
 public:
  virtual ~Dataset() = default;

  // How many samples there are, at least 1.
  virtual int64_t size() const = 0;

  // Sample `index`. REQUIRES: 0 <= index < size(). Errors name the file (an image that became unreadable).
  virtual absl::StatusOr<Example> Get(int64_t index) const = 0;

  // All samples as one Example with a leading dimension, where they lie in memory; nullptr where they do not. Loaders
  // gather whole batches from it.
  virtual const Example* InMemory() const { return nullptr; }
};

// What an evaluator needs.
struct DataSplits {
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> validation;
  Task task = Task::kClassification;
  // Shape of one input (without N).
  std::vector<int64_t> input_shape;
  // Classification: classes. Regression: targets.
  int64_t outputs = 0;
  // Classification, where known: names of the classes.
  std::vector<std::string> class_names;
  // Tables: names of the features. Regression, where known: names of the targets.
  std::vector<std::string> feature_names;
  std::vector<std::string> target_names;
  // What was done to the inputs already, so that users of a trained model can do it, too.
  std::vector<v1::Preprocessing> preprocessing;
};

// What a dataset is opened for.
struct DatasetRequest {
  // The same for all models of an experiment: divides into splits and draws synthetic samples where the config has no
  // seed of its own.
  uint64_t order_seed = 0;
  // What the evaluator wants to predict. Decides where the data leaves it open: a table's target column that holds
  // whole numbers may mean classes or values.
  std::optional<Task> task;
};

// Factories take (config, request).
using DatasetRegistry = Registry<DataSplits, const DatasetRequest&>;

// A dataset of samples in memory. REQUIRES: `all` as InMemory() describes it: float32 inputs and targets with the same
// leading dimension, at least 1; they are not changed afterwards.
std::shared_ptr<const Dataset> MakeInMemoryDataset(Example all);

// Opens the dataset that `config` names; evaluators say which `task` they want. Errors: NOT_FOUND names the files,
// where they were sought and, for images, the synthetic variant; INVALID_ARGUMENT names the file and place of what is
// corrupt (truncated, not a number, NaN), or says that the dataset does not fit the task.
//
// Checks what every dataset promises, users' own included: shapes, a finite number for each value and a class below
// `outputs` for each target that lies in memory.
absl::StatusOr<DataSplits> OpenDataset(const v1::DatasetConfig& config, uint64_t order_seed,
                                       std::optional<Task> task = std::nullopt);

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_DATASET_H_
