#include "src/evaluators/libtorch_optimizer.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <sstream>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "absl/strings/str_cat.h"

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

// LibTorch's state for a parameter, as a ParameterState.
struct StateView {
  // Absent if this class does not count steps.
  int64_t* steps = nullptr;
  std::vector<at::Tensor*> slots;
};

template <typename State, typename Options>
StateView ViewAdam(State& state, const Options& options) {
  StateView view{&state.step(), {&state.exp_avg(), &state.exp_avg_sq()}};
  if (options.amsgrad()) view.slots.push_back(&state.max_exp_avg_sq());
  return view;
}
StateView View(torch::optim::AdamParamState& state, const torch::optim::AdamOptions& options) {
  return ViewAdam(state, options);
}
StateView View(torch::optim::AdamWParamState& state, const torch::optim::AdamWOptions& options) {
  return ViewAdam(state, options);
}
StateView View(torch::optim::SGDParamState& state, const torch::optim::SGDOptions& options) {
  if (options.momentum() == 0) return {};
  return {nullptr, {&state.momentum_buffer()}};
}
StateView View(torch::optim::RMSpropParamState& state, const torch::optim::RMSpropOptions& options) {
  StateView view{&state.step(), {&state.square_avg()}};
  if (options.centered()) view.slots.push_back(&state.grad_avg());
  if (options.momentum() > 0) view.slots.push_back(&state.momentum_buffer());
  return view;
}

// Calls `use` with the options, and a new state, of the class that `optimizer` is.
template <typename Use>
auto WithState(const torch::optim::Optimizer& optimizer, const Use& use) {
  const torch::optim::OptimizerOptions& any = optimizer.param_groups().front().options();
  if (const auto* options = dynamic_cast<const torch::optim::SGDOptions*>(&any)) {
    return use(*options, std::make_unique<torch::optim::SGDParamState>());
  }
  if (const auto* options = dynamic_cast<const torch::optim::AdamOptions*>(&any)) {
    return use(*options, std::make_unique<torch::optim::AdamParamState>());
  }
  if (const auto* options = dynamic_cast<const torch::optim::AdamWOptions*>(&any)) {
    return use(*options, std::make_unique<torch::optim::AdamWParamState>());
  }
  return use(dynamic_cast<const torch::optim::RMSpropOptions&>(any),
             std::make_unique<torch::optim::RMSpropParamState>());
}

// The key of a parameter's state in LibTorch's optimizers: its address, which LibTorch 1.13 writes as text.
template <typename Key>
Key KeyOf(const at::Tensor& parameter) {
  if constexpr (std::is_same_v<Key, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}
using States = std::decay_t<decltype(std::declval<torch::optim::Optimizer&>().state())>;

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

std::vector<at::Tensor> UniqueParameters(const torch::optim::Optimizer& optimizer) {
  std::vector<at::Tensor> parameters;
  std::unordered_set<const at::TensorImpl*> seen;
  for (const at::Tensor& parameter : optimizer.param_groups().front().params()) {
    if (seen.insert(parameter.unsafeGetTensorImpl()).second) parameters.push_back(parameter);
  }
  return parameters;
}

absl::StatusOr<std::vector<ParameterState>> GetParameterStates(torch::optim::Optimizer& optimizer) {
  std::vector<ParameterState> states;
  for (const at::Tensor& parameter : UniqueParameters(optimizer)) {
    ParameterState& state = states.emplace_back();
    const at::Tensor& gradient = parameter.grad();
    state.had_gradient = gradient.defined();
    bool sparse = gradient.defined() && gradient.layout() != at::kStrided;
    const auto found = optimizer.state().find(KeyOf<States::key_type>(parameter));
    if (found != optimizer.state().end()) {
      WithState(optimizer, [&](const auto& options, auto model) {
        const StateView view = View(dynamic_cast<decltype(*model)>(*found->second), options);
        state.steps = view.steps == nullptr ? 1 : *view.steps;
        for (const at::Tensor* const slot : view.slots) {
          sparse = sparse || slot->layout() != at::kStrided;
          state.slots.push_back(*slot);
        }
      });
    }
    if (sparse) return absl::UnimplementedError("what an optimizer keeps of sparse gradients cannot be kept in a file");
  }
  return states;
}

void SetParameterStates(std::vector<ParameterState> states, torch::optim::Optimizer& optimizer) {
  const at::NoGradGuard no_grad;
  const std::vector<at::Tensor> parameters = UniqueParameters(optimizer);
  for (size_t i = 0; i < parameters.size(); ++i) {
    at::Tensor parameter = parameters[i];
    if (states[i].had_gradient && ZeroGradLeavesZeros()) parameter.mutable_grad() = at::zeros_like(parameter);
    if (states[i].slots.empty()) continue;
    optimizer.state()[KeyOf<States::key_type>(parameter)] =
        WithState(optimizer, [&](const auto& options, auto model) -> States::mapped_type {
          const StateView view = View(*model, options);
          if (view.steps != nullptr) *view.steps = states[i].steps;
          for (size_t slot = 0; slot < view.slots.size(); ++slot) {
            *view.slots[slot] = at::empty_like(parameter).copy_(std::exchange(states[i].slots[slot], {}));
          }
          return model;
        });
  }
}

absl::Status CheckParameterStates(const std::vector<ParameterState>& states, const std::vector<at::Tensor>& parameters,
                                  size_t slots) {
  if (states.size() != parameters.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the optimizer has ", parameters.size(), " parameters, not ", states.size()));
  }
  for (size_t i = 0; i < states.size(); ++i) {
    bool fits = states[i].steps >= 0 && states[i].slots.size() == (states[i].steps > 0 ? slots : 0);
    for (const at::Tensor& slot : states[i].slots) {
      fits = fits && slot.sizes() == parameters[i].sizes() && slot.scalar_type() == parameters[i].scalar_type();
    }
    if (!fits)
      return absl::InvalidArgumentError(absl::StrCat("the optimizer's state of parameter ", i, " does not fit"));
  }
  return absl::OkStatus();
}

size_t SlotsPerParameter(const torch::optim::Optimizer& optimizer) {
  return WithState(optimizer, [](const auto& options, auto state) { return View(*state, options).slots.size(); });
}

bool ZeroGradLeavesZeros() {
  static const bool leaves_zeros = [] {
    at::Tensor parameter = at::zeros({1});
    parameter.mutable_grad() = at::zeros({1});
    torch::optim::SGD optimizer({parameter}, torch::optim::SGDOptions(0));
    optimizer.zero_grad();
    return parameter.grad().defined();
  }();
  return leaves_zeros;
}

}  // namespace lanista
