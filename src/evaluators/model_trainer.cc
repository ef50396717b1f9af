#include "src/evaluators/model_trainer.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/out_of_memory.h"
#include "src/base/status.h"
#include "src/evaluators/layer_diagnosis.h"
#include "src/evaluators/trains_model.h"

namespace lanista {
namespace {

// Losses of so many batches are kept before the device is waited for.
constexpr size_t kPendingLosses = 64;

// The model's scores.
absl::StatusOr<at::Tensor> Forward(nn::Model& model, const Criterion& criterion, const data::Example& batch) {
  at::Tensor output;
  try {
    output = model.forward(batch.input);
  } catch (const c10::Error& error) {
    if (SaysOutOfMemory(error.what_without_backtrace())) throw;
    return absl::InvalidArgumentError(DescribeForwardError(model, batch.input, error));
  }
  if (!output.defined()) return absl::InvalidArgumentError("the model returns an undefined tensor");
  return criterion.Scores(output, batch.target);
}

}  // namespace

class ModelTrainer::LossMeter {
 public:
  // `name` and `epoch` are for messages.
  LossMeter(std::string name, int64_t epoch, c10::Device device)
      : name_(std::move(name)), epoch_(epoch), on_cpu_(device.is_cpu()) {}

  // `loss` is the mean over `samples` samples.
  void Add(const at::Tensor& loss, int64_t samples) {
    pending_.push_back(loss.detach());
    samples_.push_back(samples);
    if (on_cpu_ || pending_.size() >= kPendingLosses) Flush();
  }

  double Mean() {
    Flush();
    return sum_ / static_cast<double>(count_);
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
      learning_rate_(optimizer_.LearningRate()) {}

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

}  // namespace lanista
