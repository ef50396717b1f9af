// How a built-in evaluator trains: what ClassificationConfig and RegressionConfig have in common.
#ifndef LANISTA_SRC_EVALUATORS_TRAINING_OPTIONS_H_
#define LANISTA_SRC_EVALUATORS_TRAINING_OPTIONS_H_

#include <chrono>
#include <cstdint>
#include <optional>

#include "google/protobuf/duration.pb.h"
#include "google/protobuf/repeated_field.h"
#include "protos/experiment.pb.h"

namespace lanista {

// The fields of experiment.proto, with their defaults filled in.
struct TrainingOptions {
  v1::DatasetConfig dataset;
  google::protobuf::RepeatedPtrField<v1::TransformConfig> augmentation;
  google::protobuf::RepeatedPtrField<v1::TransformConfig> transform;
  int64_t batch_size = 64;
  int64_t validation_batch_size = 256;
  int64_t max_epochs = 1;
  std::optional<double> limit_train_batches;
  std::optional<int64_t> max_train_batches;
  std::optional<double> limit_validation_batches;
  v1::OptimizerConfig optimizer;
  v1::ScheduleConfig schedule;
  v1::GradientClippingConfig gradient_clipping;
  int64_t loader_threads = 1;
  bool export_onnx = true;
  bool drop_last = false;
  // 0: no checkpoints.
  std::chrono::nanoseconds checkpoint_interval = std::chrono::seconds(60);
};

// Converts a duration that CheckConfig accepts. Durations of more than two centuries become two centuries.
std::chrono::nanoseconds ToChrono(const google::protobuf::Duration& duration);

// Reads them from `config`, a ClassificationConfig or a RegressionConfig.
template <typename Config>
TrainingOptions MakeTrainingOptions(const Config& config) {
  TrainingOptions options;
  options.dataset = config.dataset();
  options.augmentation = config.augmentation();
  options.transform = config.transform();
  if (config.has_batch_size()) options.batch_size = config.batch_size();
  options.validation_batch_size =
      config.has_validation_batch_size() ? config.validation_batch_size() : 4 * options.batch_size;
  if (config.has_max_epochs()) options.max_epochs = config.max_epochs();
  if (config.has_limit_train_batches()) options.limit_train_batches = config.limit_train_batches();
  if (config.has_max_train_batches()) options.max_train_batches = config.max_train_batches();
  if (config.has_limit_validation_batches()) options.limit_validation_batches = config.limit_validation_batches();
  options.optimizer = config.optimizer();
  if (!config.has_optimizer()) options.optimizer.mutable_adam();
  options.schedule = config.schedule();
  options.gradient_clipping = config.gradient_clipping();
  if (config.has_loader_threads()) options.loader_threads = config.loader_threads();
  if (config.has_export_onnx()) options.export_onnx = config.export_onnx();
  options.drop_last = config.drop_last();
  if (config.checkpoint().has_interval()) options.checkpoint_interval = ToChrono(config.checkpoint().interval());
  return options;
}

// How many of an epoch's `batches` are used. A fraction is rounded down to whole batches, but at least one is used; a
// maximum limits the number.
int64_t LimitBatches(int64_t batches, std::optional<double> fraction, std::optional<int64_t> maximum = std::nullopt);

// The learning rate of `epoch` (from 0) of `max_epochs`, where the optimizer's own is `base`. Cosine: Loshchilov &
// Hutter, "SGDR", 2017, equation 5, without restarts; like PyTorch's it reaches the minimum after the last epoch.
double LearningRateAt(const v1::ScheduleConfig& schedule, double base, int64_t epoch, int64_t max_epochs);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_TRAINING_OPTIONS_H_
