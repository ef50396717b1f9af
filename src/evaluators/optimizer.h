// What moves a model's weights.
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

// The torch::optim class that a configuration names: the same weights, bit for bit, after the same calls; only quicker
// where FlatOptimizer can. LibTorch's own class does the work where it cannot: on GPUs, for types other than float32
// and float64, and if gradients are sparse in the first step.
//
// Of LibTorch's contract, this only is different: gradients are tensors of their own in each step, where LibTorch 1.13
// keeps and zeroes one tensor. Used by one thread.
class Optimizer {
 public:
  // Fields of `config` that are absent have LibTorch's defaults. REQUIRES: `config` is one that CheckConfig
  // accepts.
  Optimizer(const v1::OptimizerConfig& config, std::vector<at::Tensor> parameters);
  ~Optimizer();

  // Forgets the gradients.
  void ZeroGrad();

  // Moves the weights along the gradients.
  void Step();

  // The parameters, with the gradients that Step would take.
  const std::vector<at::Tensor>& WithGradients();

  double LearningRate() const;
  void SetLearningRate(double learning_rate);

  // What is kept for each parameter, in their order, one that is listed twice once; the tensors are not copies. After a
  // step. UNIMPLEMENTED: gradients are sparse.
  absl::StatusOr<std::vector<ParameterState>> GetParameterStates() const;

  // Goes on as the optimizer would that gave `states`; takes their tensors, which are on the CPU. REQUIRES: no step was
  // made yet. INVALID_ARGUMENT: they are another model's or optimizer's; nothing is changed then.
  absl::Status SetParameterStates(std::vector<ParameterState> states);

  // Whether LibTorch's class does the work.
  bool is_libtorch() const { return flat_ == nullptr; }

 private:
  // Holds the options even if it does not do the work.
  const std::unique_ptr<torch::optim::Optimizer> libtorch_;
  std::unique_ptr<FlatOptimizer> flat_;
  // Before the first step, LibTorch's class can still take over.
  bool stepped_ = false;
};

// Bounds the gradients of `parameters` in place, as `config` says; does nothing if it says nothing.
void ClipGradients(const v1::GradientClippingConfig& config, const std::vector<at::Tensor>& parameters);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_OPTIMIZER_H_
