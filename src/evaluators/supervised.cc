#include "src/evaluators/supervised.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/data/transform.h"
#include "src/evaluators/model_trainer.h"

namespace lanista {
namespace {

// Gives `use` each batch of an epoch; CANCELED between two of them if the trial should end.
template <typename Use>
absl::Status ForEachBatch(data::Loader& loader, int64_t epoch, const TrialContext& context, const Use& use) {
  loader.StartEpoch(epoch);
  while (true) {
    if (context.canceled()) return absl::CancelledError("the trial was canceled");
    LANISTA_ASSIGN_OR_RETURN(const std::optional<data::Example> batch, loader.Next());
    if (!batch) return absl::OkStatus();
    LANISTA_RETURN_IF_ERROR(use(*batch));
  }
}

}  // namespace

SupervisedEvaluator::SupervisedEvaluator(std::string path, data::Task task, TrainingOptions options,
                                         CriterionFactory make_criterion)
    : path_(std::move(path)), task_(task), options_(std::move(options)), make_criterion_(std::move(make_criterion)) {}

absl::Status SupervisedEvaluator::Prepare(uint64_t order_seed) {
  LANISTA_RETURN_IF_ERROR(CheckTrainingOptions(options_, path_));
  absl::StatusOr<data::DataSplits> splits = data::OpenDataset(options_.dataset, order_seed, task_);
  if (!splits.ok()) return Annotate(splits.status(), path_ + ".dataset");
  LANISTA_ASSIGN_OR_RETURN(criterion_, make_criterion_(splits->outputs));

  const auto make_loader = [&](std::shared_ptr<const data::Dataset> dataset,
                               const std::vector<google::protobuf::RepeatedPtrField<v1::TransformConfig>>& configs,
                               data::LoaderOptions options) -> absl::StatusOr<std::unique_ptr<data::Loader>> {
    LANISTA_ASSIGN_OR_RETURN(auto transforms, data::TransformChain::Create(configs, *splits));
    LANISTA_RETURN_IF_ERROR(transforms->OutputShape(splits->input_shape).status());
    options.order_seed = order_seed;
    options.threads = static_cast<int>(options_.loader_threads);
    return std::make_unique<data::Loader>(std::move(dataset), std::move(transforms), options);
  };
  const auto batches = [](const data::Dataset& dataset, int64_t batch_size) {
    return (dataset.size() + batch_size - 1) / batch_size;
  };

  data::LoaderOptions train;
  train.batch_size = options_.batch_size;
  train.shuffle = true;
  train.max_batches =
      LimitBatches(batches(*splits->train, train.batch_size), options_.limit_train_batches, options_.max_train_batches);
  absl::StatusOr<std::unique_ptr<data::Loader>> train_loader =
      make_loader(splits->train, {options_.augmentation, options_.transform}, train);
  if (!train_loader.ok()) return Annotate(train_loader.status(), path_ + " (augmentation, then transform)");
  train_loader_ = *std::move(train_loader);

  data::LoaderOptions validation;
  validation.batch_size = options_.validation_batch_size;
  validation.max_batches =
      LimitBatches(batches(*splits->validation, validation.batch_size), options_.limit_validation_batches);
  absl::StatusOr<std::unique_ptr<data::Loader>> validation_loader =
      make_loader(splits->validation, {options_.transform}, validation);
  if (!validation_loader.ok()) return Annotate(validation_loader.status(), path_ + ".transform");
  validation_loader_ = *std::move(validation_loader);
  return absl::OkStatus();
}

absl::Status SupervisedEvaluator::Evaluate(TrialContext& context) {
  ModelTrainer trainer(context.model(), *criterion_, options_, context.device());
  MetricMap metrics;
  at::Tensor example;
  for (int64_t epoch = 0; epoch < options_.max_epochs; ++epoch) {
    trainer.StartEpoch(epoch);
    LANISTA_RETURN_IF_ERROR(
        ForEachBatch(*train_loader_, epoch, context, [&](const data::Example& batch) { return trainer.Train(batch); }));
    trainer.StartValidation();
    LANISTA_RETURN_IF_ERROR(ForEachBatch(*validation_loader_, epoch, context, [&](const data::Example& batch) {
      example = batch.input;
      return trainer.Validate(batch);
    }));
    metrics = trainer.FinishEpoch();
    context.ReportIntermediate(metrics);
  }
  context.ReportFinal(metrics);
  if (options_.export_onnx) context.ExportOnnx(example);
  return absl::OkStatus();
}

}  // namespace lanista
