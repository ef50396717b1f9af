// One model in training: its optimizer, its losses, its metrics. Whoever owns the data drives it, batch by batch; so
// several models can be trained on the same batches, each by a trainer of its own.
#ifndef LANISTA_SRC_EVALUATORS_MODEL_TRAINER_H_
#define LANISTA_SRC_EVALUATORS_MODEL_TRAINER_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/data/dataset.h"
#include "src/evaluators/checkpoint_file.h"
#include "src/evaluators/criterion.h"
#include "src/evaluators/evaluator.h"
#include "src/evaluators/optimizer.h"
#include "src/evaluators/training_options.h"
#include "src/nn/model.h"

namespace lanista {

// For each epoch: StartEpoch, Train for each training batch, StartValidation, Validate for each validation batch,
// FinishEpoch. Random numbers are drawn by the model's own forward only, from LibTorch's default generator.
//
// Errors of Train and Validate are the model's faults (an output or a layer that does not fit); NanMetricError is
// thrown where a loss is NaN or infinite. Used by one thread. Batches may lie on any device.
class ModelTrainer {
 public:
  // `model` is on `device`. `criterion` and `options` must outlive the trainer; `options` were checked.
  ModelTrainer(std::shared_ptr<nn::Model> model, const Criterion& criterion, const TrainingOptions& options,
               c10::Device device);
  ~ModelTrainer();
  ModelTrainer(const ModelTrainer&) = delete;
  ModelTrainer& operator=(const ModelTrainer&) = delete;

  // Runs `model` on `batch` in training and in evaluation mode, and trains nothing; leaves it in training mode. Errors
  // are those of Train and Validate; a loss may be NaN.
  static absl::Status Try(nn::Model& model, const Criterion& criterion, const data::Example& batch);

  // Begins epoch `epoch`, from 0: training mode, and the schedule's learning rate.
  void StartEpoch(int64_t epoch);

  // One step of the optimizer. Batches are on the model's device. FAILED_PRECONDITION: see CheckTrainsModel.
  absl::Status Train(const data::Example& batch);

  // Evaluation mode.
  void StartValidation();

  // Measures; changes nothing.
  absl::Status Validate(const data::Example& batch);

  // The epoch's metrics: the criterion's and `loss` (mean over the validation samples), `train_loss` (mean over the
  // samples trained on, each with the weights of its own step).
  MetricMap FinishEpoch();

  // Adds to `checkpoint` what training needs to go on from here bit for bit; tensors are the trainer's own, so write
  // them before training goes on. To be called between two calls of Train, or after FinishEpoch. UNIMPLEMENTED: it
  // cannot be kept. Takes LibTorch's default generators for the model's.
  absl::Status Save(Checkpoint* checkpoint) const;

  // Goes on from what Save gave, in place of all calls that led there: next comes, if the header names a batch other
  // than the first, that batch's Train, else StartEpoch. Sets LibTorch's default generators. INVALID_ARGUMENT: it does
  // not fit the model; nothing is changed then. REQUIRES: no other call was made; `checkpoint` was not changed.
  absl::Status Restore(Checkpoint checkpoint);

 private:
  // The mean loss of one pass over data. On GPUs losses are looked at a few dozen at a time, because each look waits
  // for the device; on CPU at once.
  class LossMeter;

  const std::shared_ptr<nn::Model> model_;
  const Criterion& criterion_;
  const TrainingOptions& options_;
  const c10::Device device_;
  Optimizer optimizer_;
  // Before the schedule.
  const double learning_rate_;

  // Parameters that the optimizer does not move, and a checksum of their initial elements: the next attempt has the
  // same, so checkpoints hold those alone that something else has changed. Empty without checkpoints.
  std::map<std::string, uint64_t> untrained_;

  std::unique_ptr<LossMeter> train_loss_;
  std::unique_ptr<LossMeter> validation_loss_;
  std::unique_ptr<Measure> measure_;
  int64_t epoch_ = 0;
  bool stepped_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_MODEL_TRAINER_H_
