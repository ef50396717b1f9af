// Trains one model: holds its optimizer, its losses and its metrics. The caller owns the data and hands over batch
// after batch. So several models can be trained on the same batches, each by a trainer of its own.
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

namespace lanista {

// For each epoch: StartEpoch, Train for each training batch, StartValidation, Validate for each validation batch,
// FinishEpoch. Random numbers are drawn by the model's own forward only, from LibTorch's default generator.
//
// Train and Validate return errors if the model is at fault (an output or a layer that does not fit), and throw
// NanMetricError if a loss is NaN or infinite. Used by one thread. Batches may lie on any device.
class ModelTrainer {
 public:
  // `model` is on `device`. `criterion` and `options` must outlive the trainer; `options` were checked.
  ModelTrainer(std::shared_ptr<nn::Model> model, const Criterion& criterion, const TrainingOptions& options,
               c10::Device device);
  ~ModelTrainer();
  ModelTrainer(const ModelTrainer&) = delete;
  ModelTrainer& operator=(const ModelTrainer&) = delete;

  // Runs `model` on `batch` in training and in evaluation mode, without training it; leaves it in training mode.
  // Returns the errors of Train and Validate, but accepts a loss that is NaN.
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

  // Adds to `checkpoint` all that training needs to go on from here, bit for bit. The tensors are the trainer's own, so
  // they must be written before training goes on. To be called between two calls of Train, or after FinishEpoch.
  // Assumes that LibTorch's default generators hold the model's random stream. UNIMPLEMENTED: the state cannot be
  // saved.
  absl::Status Save(Checkpoint* checkpoint) const;

  // Goes on from a checkpoint of Save, in place of all calls that came before it. If the header names a batch other
  // than the first, the next call is Train with that batch, else StartEpoch. Sets LibTorch's default generators.
  // INVALID_ARGUMENT: the checkpoint does not fit the model; nothing is changed then. REQUIRES: no other call was made;
  // `checkpoint` was not changed.
  absl::Status Restore(Checkpoint checkpoint);

 private:
  // The mean loss of one pass over data. On GPUs, losses are read a few dozen at a time, because reading waits for the
  // device; on the CPU they are read at once.
  class LossMeter;

  const std::shared_ptr<nn::Model> model_;
  const Criterion& criterion_;
  const TrainingOptions& options_;
  const c10::Device device_;
  Optimizer optimizer_;
  // The learning rate without the schedule.
  const double learning_rate_;

  // The parameters that the optimizer does not change, with a checksum of their initial elements. The next attempt
  // begins with the same elements, so a checkpoint needs such a parameter only if something else has changed it. Empty
  // without checkpoints.
  std::map<std::string, uint64_t> untrained_;

  std::unique_ptr<LossMeter> train_loss_;
  std::unique_ptr<LossMeter> validation_loss_;
  std::unique_ptr<Measure> measure_;
  int64_t epoch_ = 0;
  bool stepped_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_MODEL_TRAINER_H_
