#include "src/evaluators/optimizer.h"

#include <torch/nn/module.h>  // clip_grad.h uses its names.
#include <torch/nn/utils/clip_grad.h>
#include <torch/optim/optimizer.h>

#include <utility>

#include "src/base/status.h"
#include "src/evaluators/libtorch_optimizer.h"

namespace lanista {

Optimizer::Optimizer(const v1::OptimizerConfig& config, std::vector<at::Tensor> parameters)
    : libtorch_(MakeLibTorchOptimizer(config, std::move(parameters))),
      flat_(FlatOptimizer::Create(config, *libtorch_)) {}

Optimizer::~Optimizer() = default;

void Optimizer::ZeroGrad() {
  if (flat_ != nullptr) {
    flat_->ZeroGrad();
  } else {
    libtorch_->zero_grad();
  }
}

void Optimizer::Step() {
  if (flat_ != nullptr && !stepped_ && flat_->HasSparseGradients()) flat_.reset();
  stepped_ = true;
  if (flat_ != nullptr) {
    flat_->Step();
  } else {
    libtorch_->step();
  }
}

const std::vector<at::Tensor>& Optimizer::WithGradients() {
  if (flat_ != nullptr) flat_->FillGradients();
  return libtorch_->param_groups().front().params();
}

absl::StatusOr<std::vector<ParameterState>> Optimizer::GetParameterStates() const {
  if (flat_ != nullptr) return flat_->GetParameterStates();
  return lanista::GetParameterStates(*libtorch_);
}

absl::Status Optimizer::SetParameterStates(std::vector<ParameterState> states) {
  LANISTA_RETURN_IF_ERROR(CheckParameterStates(states, UniqueParameters(*libtorch_), SlotsPerParameter(*libtorch_)));
  if (flat_ != nullptr) {
    flat_->SetParameterStates(std::move(states));
  } else {
    lanista::SetParameterStates(std::move(states), *libtorch_);
  }
  stepped_ = true;
  return absl::OkStatus();
}

double Optimizer::LearningRate() const { return libtorch_->param_groups().front().options().get_lr(); }

void Optimizer::SetLearningRate(double learning_rate) {
  for (torch::optim::OptimizerParamGroup& group : libtorch_->param_groups()) group.options().set_lr(learning_rate);
}

void ClipGradients(const v1::GradientClippingConfig& config, const std::vector<at::Tensor>& parameters) {
  if (config.has_max_norm()) torch::nn::utils::clip_grad_norm_(parameters, config.max_norm());
  if (config.has_max_value()) torch::nn::utils::clip_grad_value_(parameters, config.max_value());
}

}  // namespace lanista
