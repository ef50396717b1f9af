#include "src/evaluators/model_trainer.h"

#include <ATen/Context.h>

#include <chrono>
#include <cmath>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/checksum.h"
#include "src/base/cuda_error.h"
#include "src/base/out_of_memory.h"
#include "src/base/status.h"
#include "src/evaluators/layer_diagnosis.h"
#include "src/evaluators/trains_model.h"
#include "src/nn/model.h"

namespace lanista {
namespace {

// On GPUs, the losses of this many batches are collected before the device is waited for.
constexpr size_t kPendingLosses = 64;

// The model's scores.
absl::StatusOr<at::Tensor> Forward(nn::Model& model, const Criterion& criterion, const data::Example& batch) {
  at::Tensor output;
  try {
    output = model.forward(batch.input);
  } catch (const c10::Error& error) {
    const std::string message = error.what_without_backtrace();
    // After an error of CUDA every call fails: a second run would blame its first operator, whatever failed before.
    if (SaysOutOfMemory(message) || SaysCudaError(message)) throw;
    return absl::InvalidArgumentError(DescribeForwardError(model, batch.input, error));
  }
  if (!output.defined()) return absl::InvalidArgumentError("the model returns an undefined tensor");
  if (!output.is_floating_point()) {
    return absl::InvalidArgumentError(absl::StrCat("the model returns numbers of type ",
                                                   c10::toString(output.scalar_type()),
                                                   ": it should return floating-point ones"));
  }
  return criterion.Scores(output, batch.target);
}

// Parameters, then buffers, each once.
std::vector<Checkpoint::NamedTensor> WeightsOf(const nn::Model& model) {
  std::vector<Checkpoint::NamedTensor> weights;
  std::unordered_set<const at::TensorImpl*> seen;
  const auto add = [&](const auto& named) {
    for (const auto& entry : named) {
      if (entry.value().defined() && seen.insert(entry.value().unsafeGetTensorImpl()).second) {
        weights.push_back({entry.key(), entry.value()});
      }
    }
  };
  add(model.named_parameters());
  add(model.named_buffers());
  return weights;
}

uint64_t ChecksumOfElements(const at::Tensor& tensor) {
  const at::NoGradGuard no_grad;
  const at::Tensor dense = tensor.detach().cpu().contiguous();
  return ChecksumOf(dense.data_ptr(), dense.nbytes());
}

// LibTorch's generators that a model on `device` draws from.
std::vector<at::Generator> DefaultGenerators(c10::Device device) {
  std::vector<at::Generator> generators{at::globalContext().defaultGenerator(c10::kCPU)};
  if (!device.is_cpu()) generators.push_back(at::globalContext().defaultGenerator(device));
  return generators;
}

std::vector<at::Tensor> StatesOf(std::vector<at::Generator>& generators) {
  std::vector<at::Tensor> states;
  for (at::Generator& generator : generators) {
    const std::lock_guard<std::mutex> lock(generator.mutex());
    states.push_back(generator.get_state());
  }
  return states;
}

// Throws c10::Error where one is none.
void SetStates(std::vector<at::Generator>& generators, const std::vector<at::Tensor>& states) {
  for (size_t i = 0; i < generators.size(); ++i) {
    const std::lock_guard<std::mutex> lock(generators[i].mutex());
    generators[i].set_state(states[i]);
  }
}

absl::Status DoesNotFit(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("the checkpoint does not fit the model: ", what));
}

}  // namespace

class ModelTrainer::LossMeter {
 public:
  // `name` and `epoch` are for messages.
  LossMeter(std::string name, int64_t epoch, c10::Device device)
      : name_(std::move(name)), epoch_(epoch), on_cpu_(device.is_cpu()) {}

  // Adds a batch: `loss` is the mean over its `samples` samples.
  void Add(const at::Tensor& loss, int64_t samples) {
    pending_.push_back(loss.detach());
    samples_.push_back(samples);
    if (on_cpu_ || pending_.size() >= kPendingLosses) Flush();
  }

  double Mean() {
    Flush();
    return sum_ / static_cast<double>(count_);
  }

  v1::CheckpointLoss Save() {
    Flush();
    v1::CheckpointLoss loss;
    loss.set_batches(batch_);
    loss.set_samples(count_);
    loss.set_sum(sum_);
    return loss;
  }

  // REQUIRES: nothing was added yet.
  void Restore(const v1::CheckpointLoss& loss) {
    batch_ = loss.batches();
    count_ = loss.samples();
    sum_ = loss.sum();
  }

 private:
  void Flush() {
    if (pending_.empty()) return;
    if (!on_cpu_) pending_ = at::stack(pending_).cpu().unbind();
    for (size_t i = 0; i < pending_.size(); ++i) {
      ++batch_;
      const double loss = pending_[i].item<double>();
      if (!std::isfinite(loss)) {
        throw NanMetricError(absl::StrCat(name_, " is ", std::isnan(loss) ? "NaN" : "infinite", " at epoch ",
                                          epoch_ + 1, ", batch ", batch_));
      }
      sum_ += loss * static_cast<double>(samples_[i]);
      count_ += samples_[i];
    }
    pending_.clear();
    samples_.clear();
  }

  const std::string name_;
  const int64_t epoch_;
  const bool on_cpu_;
  std::vector<at::Tensor> pending_;
  std::vector<int64_t> samples_;
  int64_t batch_ = 0;
  int64_t count_ = 0;
  double sum_ = 0;
};

ModelTrainer::ModelTrainer(std::shared_ptr<nn::Model> model, const Criterion& criterion, const TrainingOptions& options,
                           c10::Device device)
    : model_(std::move(model)),
      criterion_(criterion),
      options_(options),
      device_(device),
      optimizer_(options.optimizer, model_->parameters()),
      learning_rate_(optimizer_.LearningRate()) {
  if (options_.checkpoint_interval == std::chrono::nanoseconds::zero()) return;
  for (const auto& parameter : model_->named_parameters()) {
    if (!parameter.value().requires_grad()) untrained_[parameter.key()] = ChecksumOfElements(parameter.value());
  }
}

ModelTrainer::~ModelTrainer() = default;

absl::Status ModelTrainer::Try(nn::Model& model, const Criterion& criterion, const data::Example& batch) {
  model.train();
  LANISTA_ASSIGN_OR_RETURN(const at::Tensor scores, Forward(model, criterion, batch));
  LANISTA_RETURN_IF_ERROR(CheckTrainsModel(criterion.Loss(scores, batch.target), model));
  const at::NoGradGuard no_grad;
  model.eval();
  LANISTA_RETURN_IF_ERROR(Forward(model, criterion, batch).status());
  model.train();
  return absl::OkStatus();
}

void ModelTrainer::StartEpoch(int64_t epoch) {
  epoch_ = epoch;
  train_loss_ = std::make_unique<LossMeter>("loss", epoch, device_);
  model_->train();
  optimizer_.SetLearningRate(LearningRateAt(options_.schedule, learning_rate_, epoch, options_.max_epochs));
}

absl::Status ModelTrainer::Train(const data::Example& batch) {
  LANISTA_ASSIGN_OR_RETURN(const at::Tensor scores, Forward(*model_, criterion_, batch));
  const at::Tensor loss = criterion_.Loss(scores, batch.target);
  if (!stepped_ || !loss.requires_grad()) LANISTA_RETURN_IF_ERROR(CheckTrainsModel(loss, *model_));
  stepped_ = true;
  train_loss_->Add(loss, batch.target.size(0));
  optimizer_.ZeroGrad();
  loss.backward();
  ClipGradients(options_.gradient_clipping, optimizer_.WithGradients());
  optimizer_.Step();
  return absl::OkStatus();
}

void ModelTrainer::StartValidation() {
  validation_loss_ = std::make_unique<LossMeter>("validation loss", epoch_, device_);
  measure_ = criterion_.NewMeasure();
  model_->eval();
}

absl::Status ModelTrainer::Validate(const data::Example& batch) {
  const at::NoGradGuard no_grad;
  LANISTA_ASSIGN_OR_RETURN(const at::Tensor scores, Forward(*model_, criterion_, batch));
  validation_loss_->Add(criterion_.Loss(scores, batch.target), batch.target.size(0));
  measure_->Add(scores, batch.target);
  return absl::OkStatus();
}

MetricMap ModelTrainer::FinishEpoch() {
  MetricMap metrics{{"train_loss", train_loss_->Mean()}, {"loss", validation_loss_->Mean()}};
  metrics.merge(measure_->Finish());
  return metrics;
}

absl::Status ModelTrainer::Save(Checkpoint* checkpoint) const {
  LANISTA_ASSIGN_OR_RETURN(std::vector<ParameterState> states, optimizer_.GetParameterStates());
  // A model that was restored at the beginning of an epoch has none until that epoch begins, nor needs it.
  if (train_loss_ != nullptr) *checkpoint->header.mutable_train_loss() = train_loss_->Save();
  for (Checkpoint::NamedTensor& weight : WeightsOf(*model_)) {
    const auto untrained = untrained_.find(weight.name);
    if (untrained != untrained_.end() && untrained->second == ChecksumOfElements(weight.tensor)) continue;
    checkpoint->tensors.push_back(std::move(weight));
  }
  for (ParameterState& state : states) {
    v1::CheckpointParameter& parameter = *checkpoint->header.add_parameters();
    parameter.set_steps(state.steps);
    parameter.set_had_gradient(state.had_gradient);
    parameter.set_slots(static_cast<int>(state.slots.size()));
    for (at::Tensor& slot : state.slots) checkpoint->tensors.push_back({"", std::move(slot)});
  }
  std::vector<at::Generator> generators = DefaultGenerators(device_);
  for (at::Tensor& state : StatesOf(generators)) checkpoint->tensors.push_back({"", std::move(state)});
  return absl::OkStatus();
}

absl::Status ModelTrainer::Restore(Checkpoint checkpoint) {
  const v1::CheckpointHeader& header = checkpoint.header;
  std::vector<Checkpoint::NamedTensor>& tensors = checkpoint.tensors;
  size_t next = 0;
  // To, from.
  std::vector<std::pair<at::Tensor, at::Tensor>> copies;
  for (const auto& [name, tensor] : WeightsOf(*model_)) {
    if (next == tensors.size() || tensors[next].name != name) {
      if (untrained_.count(name) > 0) continue;
      return DoesNotFit(absl::StrCat("it lacks '", name, "'"));
    }
    at::Tensor& kept = tensors[next++].tensor;
    if (kept.sizes() != tensor.sizes() || kept.scalar_type() != tensor.scalar_type()) {
      return DoesNotFit(absl::StrCat("'", name, "' has another shape or type"));
    }
    copies.emplace_back(tensor, std::move(kept));
  }
  std::vector<ParameterState> states;
  for (const v1::CheckpointParameter& parameter : header.parameters()) {
    ParameterState& state = states.emplace_back();
    state.steps = parameter.steps();
    state.had_gradient = parameter.had_gradient();
    for (int slot = 0; slot < parameter.slots() && next < tensors.size(); ++slot) {
      state.slots.push_back(std::move(tensors[next++].tensor));
    }
  }
  std::vector<at::Generator> generators = DefaultGenerators(device_);
  if (tensors.size() - next != generators.size()) return DoesNotFit("it has another number of generators");
  std::vector<at::Tensor> random;
  for (; next < tensors.size(); ++next) random.push_back(std::move(tensors[next].tensor));

  const std::vector<at::Tensor> random_before = StatesOf(generators);
  const absl::Status status = [&]() -> absl::Status {
    try {
      SetStates(generators, random);
    } catch (const c10::Error& error) {
      return DoesNotFit(error.what_without_backtrace());
    }
    return optimizer_.SetParameterStates(std::move(states));
  }();
  if (!status.ok()) {
    SetStates(generators, random_before);
    return status;
  }
  const at::NoGradGuard no_grad;
  for (auto& [to, from] : copies) {
    to.copy_(from);
    from.reset();
  }
  stepped_ = true;
  if (header.batch() > 0) {
    StartEpoch(header.epoch());
    train_loss_->Restore(header.train_loss());
  }
  return absl::OkStatus();
}

}  // namespace lanista
