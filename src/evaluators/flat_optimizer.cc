#include "src/evaluators/flat_optimizer.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "src/evaluators/libtorch_optimizer.h"

namespace lanista {
namespace {

// A cache line: each array in a buffer starts on one, as tensors do.
constexpr int64_t kAlignment = 64;
// ATen's: threads share elementwise loops that are longer.
constexpr int64_t kGrainSize = 32768;

bool IsDense(const at::Tensor& parameter) {
  return parameter.layout() == at::kStrided && parameter.device().is_cpu() &&
         (parameter.scalar_type() == at::kFloat || parameter.scalar_type() == at::kDouble) &&
         parameter.is_non_overlapping_and_dense() && !parameter.is_neg();
}

int Slots(const flat::SgdStep& step) { return step.momentum != 0 ? 1 : 0; }
int Slots(const flat::AdamStep& step) { return step.amsgrad ? 3 : 2; }
int Slots(const flat::RmsPropStep& step) { return 1 + (step.centered ? 1 : 0) + (step.momentum > 0 ? 1 : 0); }

template <typename Options>
flat::AdamStep MakeAdamStep(const Options& options, int64_t steps) {
  const auto [beta1, beta2] = options.betas();
  flat::AdamStep step{};
  step.step_size = options.lr() / (1 - std::pow(beta1, steps));
  step.beta1 = beta1;
  step.beta2 = beta2;
  step.eps = options.eps();
  step.correction = std::sqrt(1 - std::pow(beta2, steps));
  step.shrink = 1;
  step.amsgrad = options.amsgrad();
  return step;
}

}  // namespace

std::unique_ptr<FlatOptimizer> FlatOptimizer::Create(const v1::OptimizerConfig& config,
                                                     const torch::optim::Optimizer& libtorch) {
  std::set<at::ScalarType> dtypes;
  for (const at::Tensor& parameter : libtorch.param_groups().front().params()) {
    if (!IsDense(parameter)) return nullptr;
    dtypes.insert(parameter.scalar_type());
  }
  for (const flat::Rounding rounding : {flat::Rounding::kFused, flat::Rounding::kSeparate}) {
    if (rounding == flat::Rounding::kFused && !flat::HasFusedMultiplyAdd()) continue;
    bool agrees = true;
    for (const at::ScalarType dtype : dtypes) agrees = agrees && Agrees(config, rounding, dtype);
    if (agrees) return std::unique_ptr<FlatOptimizer>(new FlatOptimizer(libtorch, rounding));
  }
  return nullptr;
}

FlatOptimizer::FlatOptimizer(const torch::optim::Optimizer& libtorch, flat::Rounding rounding)
    : libtorch_(libtorch), rounding_(rounding) {
  slots_ = std::visit([](const auto& step) { return Slots(step); }, MakeHyper(1));
  std::unordered_map<const at::TensorImpl*, size_t> indices;
  for (const at::Tensor& parameter : libtorch.param_groups().front().params()) {
    const auto [at, is_new] = indices.emplace(parameter.unsafeGetTensorImpl(), states_.size());
    if (is_new) states_.emplace_back().parameter = parameter;
    order_.push_back(at->second);
  }
}

bool FlatOptimizer::Agrees(const v1::OptimizerConfig& config, flat::Rounding rounding, at::ScalarType dtype) {
  // Odd, so that there is a tail behind the vectors. Draws no random numbers: they are the model's.
  const at::Tensor index = at::arange(4003, at::TensorOptions(dtype));
  at::Tensor theirs = index.sin();
  at::Tensor ours = theirs.clone();
  const std::unique_ptr<torch::optim::Optimizer> libtorch = MakeLibTorchOptimizer(config, {theirs});
  const std::unique_ptr<torch::optim::Optimizer> options = MakeLibTorchOptimizer(config, {ours});
  // With small steps the weights would hide the last bits of what is added to them.
  libtorch->param_groups().front().options().set_lr(0.7);
  options->param_groups().front().options().set_lr(0.7);
  FlatOptimizer flat(*options, rounding);
  for (int step = 1; step <= 3; ++step) {
    // From 2^-10 to 2^10 times the weights.
    const at::Tensor gradient = (index * step + 0.5).sin() * index.cos().mul_(10).exp2_();
    theirs.mutable_grad() = gradient;
    ours.mutable_grad() = gradient;
    libtorch->step();
    flat.Step();
    if (!at::equal(theirs, ours)) return false;
  }
  return true;
}

void FlatOptimizer::ZeroGrad() {
  for (State& state : states_) {
    at::Tensor& gradient = state.parameter.mutable_grad();
    if (!gradient.defined()) continue;
    state.zeroed = ZeroGradLeavesZeros();
    gradient.reset();
  }
}

void FlatOptimizer::FillGradients() {
  for (const State& state : states_) {
    if (state.zeroed && !state.parameter.grad().defined()) {
      state.parameter.mutable_grad() = at::zeros_like(state.parameter);
    }
  }
}

bool FlatOptimizer::HasSparseGradients() const {
  for (const State& state : states_) {
    const at::Tensor& gradient = state.parameter.grad();
    if (gradient.defined() && gradient.layout() != at::kStrided) return true;
  }
  return false;
}

void FlatOptimizer::Step() {
  const at::NoGradGuard no_grad;
  FillGradients();
  AddStates();
  // Most parameters are at the same step.
  int64_t steps = 0;
  Hyper hyper;
  for (const size_t index : order_) {
    State& state = states_[index];
    if (!state.parameter.grad().defined()) continue;
    if (++state.steps != steps) {
      steps = state.steps;
      hyper = MakeHyper(steps);
    }
    if (state.parameter.scalar_type() == at::kFloat) {
      Step<float>(hyper, state);
    } else {
      Step<double>(hyper, state);
    }
  }
}

std::vector<ParameterState> FlatOptimizer::GetParameterStates() const {
  std::vector<ParameterState> states;
  for (const State& state : states_) {
    const at::Tensor& parameter = state.parameter;
    ParameterState& kept = states.emplace_back();
    kept.steps = state.steps;
    kept.had_gradient = state.zeroed || parameter.grad().defined();
    for (int slot = 0; slot < (state.steps > 0 ? slots_ : 0); ++slot) {
      kept.slots.push_back(
          at::from_blob(state.slots[slot], parameter.sizes(), parameter.strides(), parameter.options()));
    }
  }
  return states;
}

void FlatOptimizer::SetParameterStates(std::vector<ParameterState> states) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < states_.size(); ++i) {
    State& state = states_[i];
    state.steps = states[i].steps;
    state.zeroed = states[i].had_gradient && ZeroGradLeavesZeros();
    for (size_t slot = 0; slot < states[i].slots.size(); ++slot) {
      at::Tensor array = std::exchange(states[i].slots[slot], {});
      // The order in memory is the weights'.
      if (array.strides() != state.parameter.strides()) array = at::empty_like(state.parameter).copy_(array);
      state.slots[slot] = array.data_ptr();
      buffers_.push_back(std::move(array));
    }
  }
}

void FlatOptimizer::AddStates() {
  if (slots_ == 0) return;
  std::vector<State*> states;
  std::vector<int64_t> sizes;
  int64_t total = 0;
  for (State& state : states_) {
    if (!state.parameter.grad().defined() || state.steps > 0) continue;
    const int64_t bytes = static_cast<int64_t>(state.parameter.nbytes());
    states.push_back(&state);
    sizes.push_back((bytes + kAlignment - 1) / kAlignment * kAlignment);
    total += slots_ * sizes.back();
  }
  if (states.empty()) return;
  buffers_.push_back(at::zeros({total}, at::kByte));
  auto* next = buffers_.back().data_ptr<uint8_t>();
  for (size_t i = 0; i < states.size(); ++i) {
    for (int slot = 0; slot < slots_; ++slot) {
      states[i]->slots[slot] = next;
      next += sizes[i];
    }
  }
}

FlatOptimizer::Hyper FlatOptimizer::MakeHyper(int64_t steps) const {
  const torch::optim::OptimizerOptions& any = libtorch_.param_groups().front().options();
  if (const auto* options = dynamic_cast<const torch::optim::SGDOptions*>(&any)) {
    return flat::SgdStep{options->lr(),           options->momentum(), options->dampening(),
                         options->weight_decay(), options->nesterov(), steps == 1};
  }
  if (const auto* options = dynamic_cast<const torch::optim::AdamOptions*>(&any)) {
    flat::AdamStep step = MakeAdamStep(*options, steps);
    step.weight_decay = options->weight_decay();
    return step;
  }
  if (const auto* options = dynamic_cast<const torch::optim::AdamWOptions*>(&any)) {
    flat::AdamStep step = MakeAdamStep(*options, steps);
    if (options->weight_decay() != 0) step.shrink = 1 - options->lr() * options->weight_decay();
    return step;
  }
  const auto& options = dynamic_cast<const torch::optim::RMSpropOptions&>(any);
  return flat::RmsPropStep{options.lr(),           options.alpha(),    options.eps(),
                           options.weight_decay(), options.momentum(), options.centered()};
}

template <typename T>
void FlatOptimizer::Step(const Hyper& hyper, const State& state) const {
  const at::Tensor& parameter = state.parameter;
  TORCH_CHECK(IsDense(parameter), "a parameter has changed its device, type or layout since its optimizer was made");
  at::Tensor gradient = parameter.grad();
  TORCH_CHECK(gradient.layout() == at::kStrided, "a parameter has had dense gradients and now has a sparse one");
  // Weights are in the order in which they lie in memory; the gradient must be as well.
  if (gradient.strides() != parameter.strides() || gradient.is_neg()) {
    gradient = at::empty_like(parameter).copy_(gradient);
  }
  const T* const gradients = gradient.data_ptr<T>();
  T* const values = parameter.data_ptr<T>();
  at::parallel_for(0, parameter.numel(), kGrainSize, [&](int64_t begin, int64_t end) {
    flat::Segment<T> segment{end - begin, gradients + begin, values + begin, {}, state.zeroed ? T(0) : -T(0)};
    for (int slot = 0; slot < slots_; ++slot) segment.slots[slot] = static_cast<T*>(state.slots[slot]) + begin;
    std::visit([&](const auto& step) { flat::Apply(rounding_, step, segment); }, hyper);
  });
  // A graph that has saved the old weights must refuse to run backward.
  parameter.unsafeGetTensorImpl()->bump_version();
}

}  // namespace lanista
