// The training loop of the built-in evaluators.
#ifndef LANISTA_SRC_EVALUATORS_SUPERVISED_H_
#define LANISTA_SRC_EVALUATORS_SUPERVISED_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/data/dataset.h"
#include "src/data/loader.h"
#include "src/evaluators/criterion.h"
#include "src/evaluators/evaluator.h"
#include "src/evaluators/training_options.h"

namespace lanista {

// Trains a model for max_epochs and validates it after each. Reports the epoch's validation metrics as intermediate
// metrics, and those of the last epoch once more as the final ones.
//
// Dataset and loaders are opened by Prepare and serve all trials; the batches depend on the order seed and the epoch
// only, so that all models see the same ones. All other random numbers are the model's own, drawn while it trains. The
// models of a group are trained side by side: each batch is read, transformed and moved to the device once, then every
// model makes its own step on it.
//
// Leaves a checkpoint of each model in its checkpoint folder (CheckpointPace says when), and goes on from it. Models of
// a group may come from different places in the order of batches, some from the beginning: the group starts at the
// earliest one, and a model takes part from its own place on. So each sees its own batches in their order and nothing
// twice, which is all that its results depend on, in a group as alone.
class SupervisedEvaluator : public MultiModelEvaluator {
 public:
  // Makes the criterion, in which the built-in evaluators differ; gets DataSplits::outputs. Errors concern the
  // configuration.
  using CriterionFactory = std::function<absl::StatusOr<std::unique_ptr<Criterion>>(int64_t outputs)>;

  // `path` leads to the evaluator's configuration, for messages: "evaluator.classification".
  SupervisedEvaluator(std::string path, data::Task task, TrainingOptions options, CriterionFactory make_criterion);

  absl::Status Prepare(uint64_t order_seed) override;
  // Tries the model on copies of a training sample: on two or, if that fails, on a whole batch.
  absl::Status Try(nn::Model& model, c10::Device device) override;
  std::optional<v1::DataSpec> Data() const override { return data_; }
  absl::Status CheckCheckpoint(TrialContext& context) override;
  absl::Status EvaluateTogether(ModelGroup& group) override;

 private:
  class GroupInTraining;

  const std::string path_;
  const data::Task task_;
  const TrainingOptions options_;
  const CriterionFactory make_criterion_;

  // Set by Prepare.
  v1::DataSpec data_;
  std::unique_ptr<Criterion> criterion_;
  // A batch of one sample, transformed as in training.
  data::Example first_sample_;
  std::unique_ptr<data::Loader> train_loader_;
  std::unique_ptr<data::Loader> validation_loader_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_SUPERVISED_H_
