#include "src/evaluators/supervised.h"

#include <ATen/core/grad_mode.h>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/data/transform.h"
#include "src/evaluators/model_trainer.h"
#include "src/nn/construction.h"

namespace lanista {
namespace {

at::Tensor MoveTo(const at::Tensor& tensor, c10::Device device) {
  return tensor.to(tensor.options().device(device), /*non_blocking=*/device.is_cuda());
}

// The first sample of `dataset`, as a batch of one.
absl::StatusOr<data::Example> FirstSample(const data::Dataset& dataset, const data::TransformChain& transforms) {
  const at::NoGradGuard no_grad;
  LANISTA_ASSIGN_OR_RETURN(data::Example sample, dataset.Get(0));
  return data::Example{transforms.Apply(std::move(sample.input), /*seed=*/0).unsqueeze(0), sample.target.unsqueeze(0)};
}

// A batch of one, `count` times.
data::Example Repeat(const data::Example& sample, int64_t count, c10::Device device) {
  const auto repeat = [&](const at::Tensor& one) { return MoveTo(one.repeat_interleave(count, /*dim=*/0), device); };
  return {repeat(sample.input), repeat(sample.target)};
}

absl::StatusOr<v1::DataSpec> Describe(const data::DataSplits& splits, const data::TransformChain& transforms) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<int64_t> shape, transforms.OutputShape(splits.input_shape));
  v1::DataSpec data;
  data.mutable_input_shape()->Assign(splits.input_shape.begin(), splits.input_shape.end());
  data.mutable_model_input_shape()->Assign(shape.begin(), shape.end());
  data.set_outputs(splits.outputs);
  data.mutable_class_names()->Assign(splits.class_names.begin(), splits.class_names.end());
  data.mutable_feature_names()->Assign(splits.feature_names.begin(), splits.feature_names.end());
  data.mutable_target_names()->Assign(splits.target_names.begin(), splits.target_names.end());
  for (const v1::Preprocessing& step : splits.preprocessing) *data.add_preprocessing() = step;
  for (const v1::Preprocessing& step : transforms.Describe()) *data.add_preprocessing() = step;
  return data;
}

}  // namespace

SupervisedEvaluator::SupervisedEvaluator(std::string path, data::Task task, TrainingOptions options,
                                         CriterionFactory make_criterion)
    : path_(std::move(path)), task_(task), options_(std::move(options)), make_criterion_(std::move(make_criterion)) {}

absl::Status SupervisedEvaluator::Prepare(uint64_t order_seed) {
  absl::StatusOr<data::DataSplits> splits = data::OpenDataset(options_.dataset, order_seed, task_);
  if (!splits.ok()) return Annotate(splits.status(), path_ + ".dataset");
  LANISTA_ASSIGN_OR_RETURN(criterion_, make_criterion_(splits->outputs));

  // Of the loader that was made last.
  std::shared_ptr<const data::TransformChain> chain;
  const auto make_loader = [&](std::shared_ptr<const data::Dataset> dataset,
                               const std::vector<google::protobuf::RepeatedPtrField<v1::TransformConfig>>& configs,
                               data::LoaderOptions options) -> absl::StatusOr<std::unique_ptr<data::Loader>> {
    LANISTA_ASSIGN_OR_RETURN(chain, data::TransformChain::Create(configs, *splits));
    LANISTA_RETURN_IF_ERROR(chain->OutputShape(splits->input_shape).status());
    if (options.order == data::SampleOrder::kShuffled) {
      LANISTA_ASSIGN_OR_RETURN(first_sample_, FirstSample(*dataset, *chain));
    }
    options.order_seed = order_seed;
    options.threads = static_cast<int>(options_.loader_threads);
    return std::make_unique<data::Loader>(std::move(dataset), chain, options);
  };

  data::LoaderOptions train;
  train.batch_size = options_.batch_size;
  train.order = data::SampleOrder::kShuffled;
  train.last_batch = options_.drop_last ? data::LastBatch::kDrop : data::LastBatch::kDropSingle;
  train.max_batches = LimitBatches(data::CountBatches(splits->train->size(), train), options_.limit_train_batches,
                                   options_.max_train_batches);
  absl::StatusOr<std::unique_ptr<data::Loader>> train_loader =
      make_loader(splits->train, {options_.augmentation, options_.transform}, train);
  if (!train_loader.ok()) return Annotate(train_loader.status(), path_ + " (augmentation, then transform)");
  train_loader_ = *std::move(train_loader);

  data::LoaderOptions validation;
  validation.batch_size = options_.validation_batch_size;
  const int64_t validation_batches = data::CountBatches(splits->validation->size(), validation);
  validation.max_batches = LimitBatches(validation_batches, options_.limit_validation_batches);
  // Datasets are often sorted by class: the first batches alone would be samples of the first classes.
  if (validation.max_batches < validation_batches) validation.order = data::SampleOrder::kPermuted;
  absl::StatusOr<std::unique_ptr<data::Loader>> validation_loader =
      make_loader(splits->validation, {options_.transform}, validation);
  if (!validation_loader.ok()) return Annotate(validation_loader.status(), path_ + ".transform");
  validation_loader_ = *std::move(validation_loader);
  LANISTA_ASSIGN_OR_RETURN(data_, Describe(*splits, *chain));
  return absl::OkStatus();
}

absl::Status SupervisedEvaluator::Try(nn::Model& model, c10::Device device) {
  try {
    // Batch normalisation wants two.
    const absl::Status tried = ModelTrainer::Try(model, *criterion_, Repeat(first_sample_, 2, device));
    if (tried.ok() || absl::IsFailedPrecondition(tried)) return tried;
  } catch (const nn::SpaceError&) {
    throw;
  } catch (const std::exception&) {
    // What it says is said again below, by the batch that training has.
  }
  // A model may be made for the size of its batches.
  return ModelTrainer::Try(model, *criterion_, Repeat(first_sample_, options_.batch_size, device));
}

// A group's models, each with a trainer of its own.
class SupervisedEvaluator::GroupInTraining {
 public:
  // `path` leads to the evaluator's configuration, for messages.
  GroupInTraining(ModelGroup& group, const Criterion& criterion, const TrainingOptions& options,
                  const std::string& path)
      : group_(group),
        criterion_(criterion),
        options_(options),
        path_(path),
        members_(static_cast<size_t>(group.size())) {}

  absl::Status Run(data::Loader& train_loader, data::Loader& validation_loader) {
    LANISTA_RETURN_IF_ERROR(ForEachModel([&](int model, Member& member) -> absl::Status {
      TrialContext& context = group_.context(model);
      member.trainer = std::make_unique<ModelTrainer>(context.model(), criterion_, options_, context.device());
      return absl::OkStatus();
    }));
    for (int64_t epoch = 0; epoch < options_.max_epochs; ++epoch) {
      LANISTA_RETURN_IF_ERROR(RunEpoch(epoch, train_loader, validation_loader));
    }
    return ForEachModel([&](int model, Member& member) -> absl::Status {
      TrialContext& context = group_.context(model);
      context.ReportFinal(member.metrics);
      if (options_.export_onnx) context.ExportOnnx(example_);
      return absl::OkStatus();
    });
  }

 private:
  enum Mode { kTraining, kValidation };
  struct Member {
    std::unique_ptr<ModelTrainer> trainer;
    MetricMap metrics;
    // In training and in validation: until it has shown on a copy that it leaves its input as it is then.
    bool gets_copies[2] = {true, true};
  };

  // What one active model does, in a step of its own.
  template <typename Action>
  absl::Status ForEachModel(const Action& action) {
    for (int model = 0; model < group_.size(); ++model) {
      Member& member = members_[static_cast<size_t>(model)];
      if (group_.active(model)) {
        LANISTA_RETURN_IF_ERROR(group_.Step(model, [&] { return action(model, member); }));
      }
      if (member.trainer == nullptr || group_.active(model)) continue;
      member.trainer = nullptr;
      // It may have computed what another one must compute itself from now on, on its input.
      for (Member& other : members_) other.gets_copies[0] = other.gets_copies[1] = true;
    }
    return absl::OkStatus();
  }

  absl::Status RunEpoch(int64_t epoch, data::Loader& train_loader, data::Loader& validation_loader) {
    LANISTA_RETURN_IF_ERROR(ForEachModel([&](int, Member& member) -> absl::Status {
      member.trainer->StartEpoch(epoch);
      return absl::OkStatus();
    }));
    LANISTA_RETURN_IF_ERROR(
        ForEachBatch(train_loader, epoch, kTraining,
                     [](Member& member, const data::Example& batch) { return member.trainer->Train(batch); }));
    LANISTA_RETURN_IF_ERROR(ForEachModel([&](int, Member& member) -> absl::Status {
      member.trainer->StartValidation();
      return absl::OkStatus();
    }));
    LANISTA_RETURN_IF_ERROR(
        ForEachBatch(validation_loader, epoch, kValidation, [this](Member& member, const data::Example& batch) {
          example_ = batch.input;
          return member.trainer->Validate(batch);
        }));
    return ForEachModel([&](int model, Member& member) -> absl::Status {
      member.metrics = member.trainer->FinishEpoch();
      group_.context(model).ReportIntermediate(member.metrics);
      return absl::OkStatus();
    });
  }

  // Gives each batch of an epoch to each model; CANCELED between two of them if the trial should end.
  template <typename Use>
  absl::Status ForEachBatch(data::Loader& loader, int64_t epoch, Mode mode, const Use& use) {
    if (!group_.any_active()) return absl::OkStatus();
    loader.StartEpoch(epoch);
    while (group_.any_active()) {
      if (group_.context(0).canceled()) return absl::CancelledError("the trial was canceled");
      const absl::StatusOr<std::optional<data::Example>> batch = loader.Next();
      if (!batch.ok()) return absl::DataLossError(absl::StrCat(path_, ".dataset: ", batch.status().message()));
      if (!batch->has_value()) return absl::OkStatus();
      const c10::Device device = group_.context(0).device();
      const data::Example shared{MoveTo((*batch)->input, device), MoveTo((*batch)->target, device)};
      LANISTA_RETURN_IF_ERROR(ForEachModel([&](int, Member& member) {
        return group_.size() == 1 ? use(member, shared) : UseShared(member.gets_copies[mode], member, shared, use);
      }));
      if (changed_input_) {
        return absl::FailedPreconditionError(
            "a model changes some of its input batches in place, and not others: it cannot share them");
      }
    }
    return absl::OkStatus();
  }

  // A model that changes its input in place (a ReLU of that kind in front) would change that of its neighbours.
  template <typename Use>
  absl::Status UseShared(bool& gets_copy, Member& member, const data::Example& batch, const Use& use) {
    const data::Example own{gets_copy ? batch.input.clone() : batch.input, batch.target};
    const int64_t version = own.input._version();
    LANISTA_RETURN_IF_ERROR(use(member, own));
    if (own.input._version() == version) {
      gets_copy = false;
    } else if (!gets_copy) {
      changed_input_ = true;
    }
    return absl::OkStatus();
  }

  ModelGroup& group_;
  const Criterion& criterion_;
  const TrainingOptions& options_;
  const std::string& path_;
  std::vector<Member> members_;
  // A model has changed a batch that others see.
  bool changed_input_ = false;
  // The last input that the models were given.
  at::Tensor example_;
};

absl::Status SupervisedEvaluator::EvaluateTogether(ModelGroup& group) {
  return GroupInTraining(group, *criterion_, options_, path_).Run(*train_loader_, *validation_loader_);
}

}  // namespace lanista
