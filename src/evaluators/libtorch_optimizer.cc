#include "src/evaluators/libtorch_optimizer.h"

#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <tuple>
#include <utility>

namespace lanista {
namespace {

// Adam and AdamW have the same fields.
template <typename Optimizer, typename Options, typename Config>
std::unique_ptr<torch::optim::Optimizer> MakeAdam(const Config& config, std::vector<at::Tensor> parameters) {
  Options options;
  if (config.has_learning_rate()) options.lr(config.learning_rate());
  auto [beta1, beta2] = options.betas();
  if (config.has_beta1()) beta1 = config.beta1();
  if (config.has_beta2()) beta2 = config.beta2();
  options.betas(std::make_tuple(beta1, beta2));
  if (config.has_eps()) options.eps(config.eps());
  if (config.has_weight_decay()) options.weight_decay(config.weight_decay());
  options.amsgrad(config.amsgrad());
  return std::make_unique<Optimizer>(std::move(parameters), options);
}

std::unique_ptr<torch::optim::Optimizer> MakeSgd(const v1::SgdConfig& config, std::vector<at::Tensor> parameters) {
  torch::optim::SGDOptions options(config.has_learning_rate() ? config.learning_rate() : 0.01);
  options.momentum(config.momentum());
  options.dampening(config.dampening());
  options.weight_decay(config.weight_decay());
  options.nesterov(config.nesterov());
  return std::make_unique<torch::optim::SGD>(std::move(parameters), options);
}

std::unique_ptr<torch::optim::Optimizer> MakeRmsProp(const v1::RmsPropConfig& config,
                                                     std::vector<at::Tensor> parameters) {
  torch::optim::RMSpropOptions options;
  if (config.has_learning_rate()) options.lr(config.learning_rate());
  if (config.has_alpha()) options.alpha(config.alpha());
  if (config.has_eps()) options.eps(config.eps());
  options.weight_decay(config.weight_decay());
  options.momentum(config.momentum());
  options.centered(config.centered());
  return std::make_unique<torch::optim::RMSprop>(std::move(parameters), options);
}

}  // namespace

std::unique_ptr<torch::optim::Optimizer> MakeLibTorchOptimizer(const v1::OptimizerConfig& config,
                                                               std::vector<at::Tensor> parameters) {
  switch (config.kind_case()) {
    case v1::OptimizerConfig::kSgd:
      return MakeSgd(config.sgd(), std::move(parameters));
    case v1::OptimizerConfig::kAdam:
      return MakeAdam<torch::optim::Adam, torch::optim::AdamOptions>(config.adam(), std::move(parameters));
    case v1::OptimizerConfig::kAdamw:
      return MakeAdam<torch::optim::AdamW, torch::optim::AdamWOptions>(config.adamw(), std::move(parameters));
    case v1::OptimizerConfig::kRmsprop:
      return MakeRmsProp(config.rmsprop(), std::move(parameters));
    case v1::OptimizerConfig::KIND_NOT_SET:
      break;
  }
  TORCH_CHECK(false, "no optimizer is named");
}

}  // namespace lanista
