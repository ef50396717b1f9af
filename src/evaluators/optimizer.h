// Optimizers, which change a model's weights.
#ifndef LANISTA_SRC_EVALUATORS_OPTIMIZER_H_
#define LANISTA_SRC_EVALUATORS_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "src/evaluators/flat_optimizer.h"
#include "src/evaluators/parameter_state.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace lanista {

// Does what the torch::optim class does that a configuration names: after the same calls, the weights are the same, bit
// for bit. It is faster if FlatOptimizer can do the work. Otherwise LibTorch's own class does it: on GPUs, for types
// other than float32 and float64, and if gradients are sparse in the first step.
//
// One thing differs from LibTorch 1.13: each step has new tensors as gradients, where LibTorch keeps one tensor and
// sets it to zero. Used by one thread.
class Optimizer {
 public:
  // Fields of `config` that are absent have LibTorch's defaults. REQUIRES: `config` is one that CheckConfig
  // accepts.
  Optimizer(const v1::OptimizerConfig& config, std::vector<at::Tensor> parameters);
  ~Optimizer();

  // Clears the gradients.
  void ZeroGrad();

  // Changes the weights according to the gradients.
  void Step();

  // The parameters, with the gradients that Step would take.
  const std::vector<at::Tensor>& WithGradients();

  double LearningRate() const;
  void SetLearningRate(double learning_rate);

  // The state of each parameter, in the order of the parameters; a parameter that is listed twice has one. The tensors
  // are not copies. UNIMPLEMENTED: gradients are sparse. REQUIRES: a step was made.
  absl::StatusOr<std::vector<ParameterState>> GetParameterStates() const;

  // Goes on as the optimizer that returned `states` would. Takes their tensors, which are on the CPU. INVALID_ARGUMENT:
  // the states belong to another model or optimizer; nothing is changed then. REQUIRES: no step was made yet.
  absl::Status SetParameterStates(std::vector<ParameterState> states);

  // Whether LibTorch's class does the work.
  bool is_libtorch() const { return flat_ == nullptr; }

 private:
  // Holds the options, even if FlatOptimizer does the work.
  const std::unique_ptr<torch::optim::Optimizer> libtorch_;
  std::unique_ptr<FlatOptimizer> flat_;
  // Before the first step, LibTorch's class can still take over.
  bool stepped_ = false;
};

// Clips the gradients of `parameters` in place, as `config` says; does nothing if `config` sets no limit.
void ClipGradients(const v1::GradientClippingConfig& config, const std::vector<at::Tensor>& parameters);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_OPTIMIZER_H_
