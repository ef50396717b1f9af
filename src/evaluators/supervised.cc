#include "src/evaluators/supervised.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/cuda_error.h"
#include "src/base/status.h"
#include "src/data/transform.h"
#include "src/evaluators/checkpoint_file.h"
#include "src/evaluators/checkpoint_pace.h"
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

// The path of the model's checkpoint, whether it is there or not. Empty: there are no checkpoints.
std::string CheckpointPath(TrialContext& context) {
  const std::string folder = context.checkpoint_folder();
  return folder.empty() ? "" : folder + "/checkpoint";
}

// Turns exceptions of reading or writing a file into a status. A NanMetricError is passed on: it concerns the model.
template <typename Code>
absl::Status ErrorsOf(const Code& code) {
  try {
    return code();
  } catch (const NanMetricError&) {
    throw;
  } catch (const c10::Error& error) {
    return absl::InternalError(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

// Writes a line to the attempt's log.
void Warn(const std::string& message) { std::fprintf(stderr, "%s\n", message.c_str()); }

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

  // The options of the loader that was made last.
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
    // Two samples, because batch normalisation cannot train on one.
    const absl::Status tried = ModelTrainer::Try(model, *criterion_, Repeat(first_sample_, 2, device));
    if (tried.ok() || absl::IsFailedPrecondition(tried)) return tried;
  } catch (const nn::SpaceError&) {
    throw;
  } catch (const std::exception& error) {
    if (SaysCudaError(error.what())) throw;
    // This failure is not reported: a batch as training has it is tried below.
  }
  // A model may work with batches of the configured size only.
  return ModelTrainer::Try(model, *criterion_, Repeat(first_sample_, options_.batch_size, device));
}

// The models of a group, each with a trainer of its own.
class SupervisedEvaluator::GroupInTraining {
 public:
  // `path` leads to the evaluator's configuration, for messages.
  GroupInTraining(ModelGroup& group, const Criterion& criterion, const TrainingOptions& options,
                  const std::string& path)
      : group_(group),
        criterion_(criterion),
        options_(options),
        path_(path),
        members_(static_cast<size_t>(group.size())),
        pace_(options.checkpoint_interval, CheckpointPace::Clock::now()) {}

  absl::Status Run(data::Loader& train_loader, data::Loader& validation_loader) {
    LANISTA_RETURN_IF_ERROR(ForEachModel([&](int model, Member& member) -> absl::Status {
      TrialContext& context = group_.context(model);
      member.trainer = std::make_unique<ModelTrainer>(context.model(), criterion_, options_, context.device());
      GoOn(context, member, train_loader.batches());
      return absl::OkStatus();
    }));
    for (int64_t epoch = 0; epoch < options_.max_epochs; ++epoch) {
      LANISTA_RETURN_IF_ERROR(RunEpoch(epoch, train_loader, validation_loader));
    }
    return ForEachModel([&](int model, Member& member) -> absl::Status {
      TrialContext& context = group_.context(model);
      context.ReportFinal(member.epochs.back());
      if (options_.export_onnx) context.ExportOnnx(example_);
      return absl::OkStatus();
    });
  }

 private:
  enum Mode { kTraining, kValidation };
  struct Member {
    std::unique_ptr<ModelTrainer> trainer;
    // Each epoch's.
    std::vector<MetricMap> epochs;
    // The epoch and the batch, from 0, on which the model trains next.
    int64_t epoch = 0;
    int64_t batch = 0;
    // The model goes on in the middle of `epoch`.
    bool epoch_started = false;
    // The model's last checkpoint could not be written.
    bool warned = false;
    // In training and in validation: whether the model gets a copy of the batch. It does until a run on a copy has
    // shown that the model does not change its input.
    bool gets_copies[2] = {true, true};
  };

  // Work of one active model, done in a step of its own.
  template <typename Action>
  absl::Status ForEachModel(const Action& action) {
    for (int model = 0; model < group_.size(); ++model) {
      Member& member = members_[static_cast<size_t>(model)];
      if (group_.active(model)) {
        LANISTA_RETURN_IF_ERROR(group_.Step(model, [&] { return action(model, member); }));
      }
      if (member.trainer == nullptr || group_.active(model)) continue;
      member.trainer = nullptr;
      // Other models may have used values that this model computed from its input. They now compute these themselves,
      // and may change their input.
      for (Member& other : members_) other.gets_copies[0] = other.gets_copies[1] = true;
    }
    return absl::OkStatus();
  }

  // The same for the models that have reached `epoch`.
  template <typename Action>
  absl::Status ForEachModelIn(int64_t epoch, const Action& action) {
    return ForEachModel([&](int model, Member& member) -> absl::Status {
      return member.epoch == epoch ? action(model, member) : absl::OkStatus();
    });
  }

  // The earliest batch of `epoch` on which an active model is to train, at most `batches`; nullopt if no active model
  // has reached the epoch.
  std::optional<int64_t> FirstBatch(int64_t epoch, int64_t batches) const {
    std::optional<int64_t> first;
    for (int model = 0; model < group_.size(); ++model) {
      const Member& member = members_[static_cast<size_t>(model)];
      if (!group_.active(model) || member.epoch != epoch) continue;
      first = std::min(first.value_or(batches), member.batch);
    }
    return first;
  }

  absl::Status RunEpoch(int64_t epoch, data::Loader& train_loader, data::Loader& validation_loader) {
    const std::optional<int64_t> first = FirstBatch(epoch, train_loader.batches());
    if (!first.has_value()) return absl::OkStatus();
    LANISTA_RETURN_IF_ERROR(ForEachModelIn(epoch, [&](int, Member& member) -> absl::Status {
      if (!member.epoch_started) member.trainer->StartEpoch(epoch);
      member.epoch_started = false;
      return absl::OkStatus();
    }));
    int64_t batch = *first;
    LANISTA_RETURN_IF_ERROR(ForEachBatch(
        train_loader, epoch, *first, kTraining,
        [&](const Member& member) { return member.epoch == epoch && member.batch == batch; },
        [](Member& member, const data::Example& example) -> absl::Status {
          LANISTA_RETURN_IF_ERROR(member.trainer->Train(example));
          ++member.batch;
          return absl::OkStatus();
        },
        [&] {
          ++batch;
          return LeaveCheckpoints(epoch, batch, /*epoch_ends=*/false);
        }));
    LANISTA_RETURN_IF_ERROR(ForEachModelIn(epoch, [&](int, Member& member) -> absl::Status {
      member.trainer->StartValidation();
      return absl::OkStatus();
    }));
    LANISTA_RETURN_IF_ERROR(ForEachBatch(
        validation_loader, epoch, /*first=*/0, kValidation, [&](const Member& member) { return member.epoch == epoch; },
        [this](Member& member, const data::Example& example) {
          example_ = example.input;
          return member.trainer->Validate(example);
        },
        [] { return absl::OkStatus(); }));
    LANISTA_RETURN_IF_ERROR(ForEachModelIn(epoch, [&](int model, Member& member) -> absl::Status {
      member.epochs.push_back(member.trainer->FinishEpoch());
      ++member.epoch;
      member.batch = 0;
      group_.context(model).ReportIntermediate(member.epochs.back());
      return absl::OkStatus();
    }));
    // After the last epoch nothing is left to train.
    if (epoch + 1 == options_.max_epochs) return absl::OkStatus();
    return LeaveCheckpoints(epoch + 1, 0, /*epoch_ends=*/true);
  }

  // Gives each batch of an epoch, from number `first` on, to each model that takes part, and then calls `after`;
  // CANCELED between two batches if the trial should end.
  template <typename TakesPart, typename Use, typename After>
  absl::Status ForEachBatch(data::Loader& loader, int64_t epoch, int64_t first, Mode mode, const TakesPart& takes_part,
                            const Use& use, const After& after) {
    if (!group_.any_active()) return absl::OkStatus();
    loader.StartEpoch(epoch, first);
    while (group_.any_active()) {
      if (group_.canceled()) return absl::CancelledError("the trial was canceled");
      const absl::StatusOr<std::optional<data::Example>> batch = loader.Next();
      if (!batch.ok()) return absl::DataLossError(absl::StrCat(path_, ".dataset: ", batch.status().message()));
      if (!batch->has_value()) return absl::OkStatus();
      const c10::Device device = group_.context(0).device();
      const data::Example shared{MoveTo((*batch)->input, device), MoveTo((*batch)->target, device)};
      LANISTA_RETURN_IF_ERROR(ForEachModel([&](int, Member& member) -> absl::Status {
        if (!takes_part(member)) return absl::OkStatus();
        return group_.size() == 1 ? use(member, shared) : UseShared(member.gets_copies[mode], member, shared, use);
      }));
      if (changed_input_) {
        return absl::FailedPreconditionError(
            "a model changes some of its input batches in place, and not others: it cannot share them");
      }
      LANISTA_RETURN_IF_ERROR(after());
    }
    return absl::OkStatus();
  }

  // A model that changes its input in place (with an in-place ReLU as first layer, say) would change the input of the
  // other models.
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

  // Goes on from the model's checkpoint, if there is one that was accepted when the attempt began. An epoch has
  // `batches` batches.
  void GoOn(TrialContext& context, Member& member, int64_t batches) {
    if (!context.resumed()) return;
    const absl::Status status = [&]() -> absl::Status {
      Checkpoint checkpoint;
      LANISTA_RETURN_IF_ERROR(ErrorsOf([&]() -> absl::Status {
        LANISTA_ASSIGN_OR_RETURN(checkpoint, ReadCheckpoint(CheckpointPath(context), context.identity()));
        return absl::OkStatus();
      }));
      const v1::CheckpointHeader header = checkpoint.header;
      if (header.epoch() < 0 || header.epoch() >= options_.max_epochs || header.batch() < 0 ||
          header.batch() > batches || header.steps_size() != header.epoch()) {
        return absl::InvalidArgumentError("the checkpoint names a place that does not exist");
      }
      LANISTA_RETURN_IF_ERROR(member.trainer->Restore(std::move(checkpoint)));
      member.epoch = header.epoch();
      member.batch = header.batch();
      member.epoch_started = header.batch() > 0;
      for (const v1::CheckpointStep& step : header.steps()) {
        member.epochs.emplace_back(step.metrics().begin(), step.metrics().end());
      }
      return absl::OkStatus();
    }();
    // A checkpoint that cannot be used is replaced by the next one. The attempt computes the same bits again, so that
    // recorded metrics stay right.
    if (!status.ok()) Warn(absl::StrCat("the model begins anew: ", status.message()));
    for (const MetricMap& metrics : member.epochs) context.ReportIntermediate(metrics);
  }

  // Writes a checkpoint of each model that has reached this batch, if a checkpoint is due. A model that joins at a
  // later batch already has a checkpoint of that batch. A model whose checkpoint cannot be written trains on without
  // it.
  absl::Status LeaveCheckpoints(int64_t epoch, int64_t batch, bool epoch_ends) {
    const CheckpointPace::Clock::time_point begin = CheckpointPace::Clock::now();
    if (!pace_.Due(begin, epoch_ends)) return absl::OkStatus();
    LANISTA_RETURN_IF_ERROR(ForEachModel([&](int model, Member& member) -> absl::Status {
      if (member.epoch != epoch || member.batch != batch) return absl::OkStatus();
      const absl::Status status = ErrorsOf([&] { return LeaveCheckpoint(group_.context(model), member); });
      if (!status.ok() && !member.warned) Warn(absl::StrCat("no checkpoint was written: ", status.message()));
      member.warned = !status.ok();
      return absl::OkStatus();
    }));
    pace_.Written(begin, CheckpointPace::Clock::now());
    return absl::OkStatus();
  }

  static absl::Status LeaveCheckpoint(TrialContext& context, const Member& member) {
    const std::string path = CheckpointPath(context);
    if (path.empty()) return absl::OkStatus();
    Checkpoint checkpoint;
    LANISTA_RETURN_IF_ERROR(member.trainer->Save(&checkpoint));
    checkpoint.header.set_identity(context.identity());
    checkpoint.header.set_epoch(member.epoch);
    checkpoint.header.set_batch(member.batch);
    for (const MetricMap& metrics : member.epochs) {
      checkpoint.header.add_steps()->mutable_metrics()->insert(metrics.begin(), metrics.end());
    }
    return WriteCheckpoint(path, checkpoint);
  }

  ModelGroup& group_;
  const Criterion& criterion_;
  const TrainingOptions& options_;
  const std::string& path_;
  std::vector<Member> members_;
  CheckpointPace pace_;
  // Whether a model has changed a batch that other models use.
  bool changed_input_ = false;
  // The last input that the models were given.
  at::Tensor example_;
};

absl::Status SupervisedEvaluator::CheckCheckpoint(TrialContext& context) {
  if (options_.checkpoint_interval == std::chrono::nanoseconds::zero()) {
    return absl::FailedPreconditionError("checkpoints are switched off");
  }
  return CheckCheckpointFile(CheckpointPath(context), context.identity());
}

absl::Status SupervisedEvaluator::EvaluateTogether(ModelGroup& group) {
  return GroupInTraining(group, *criterion_, options_, path_).Run(*train_loader_, *validation_loader_);
}

}  // namespace lanista
