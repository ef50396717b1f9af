// LibTorch's optimizers from their configurations.
#ifndef LANISTA_SRC_EVALUATORS_LIBTORCH_OPTIMIZER_H_
#define LANISTA_SRC_EVALUATORS_LIBTORCH_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "src/evaluators/parameter_state.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace lanista {

// The torch::optim class that `config` names, over `parameters`; fields that are absent have LibTorch's defaults.
// REQUIRES: `config` is one that CheckConfig accepts.
std::unique_ptr<torch::optim::Optimizer> MakeLibTorchOptimizer(const v1::OptimizerConfig& config,
                                                               std::vector<at::Tensor> parameters);

// The parameters of `optimizer`, each once, even if it is listed twice.
std::vector<at::Tensor> UniqueParameters(const torch::optim::Optimizer& optimizer);

// The state of each of the UniqueParameters of `optimizer`; the tensors are its own, not copies. UNIMPLEMENTED: a
// tensor is sparse. REQUIRES, here and below: MakeLibTorchOptimizer made `optimizer`.
absl::StatusOr<std::vector<ParameterState>> GetParameterStates(torch::optim::Optimizer& optimizer);

// Makes `optimizer`, which has made no step, go on with `states`; takes their tensors. REQUIRES: CheckParameterStates
// accepts them.
void SetParameterStates(std::vector<ParameterState> states, torch::optim::Optimizer& optimizer);

// INVALID_ARGUMENT unless `states` fit `parameters`, for each of which an optimizer keeps `slots` tensors.
absl::Status CheckParameterStates(const std::vector<ParameterState>& states, const std::vector<at::Tensor>& parameters,
                                  size_t slots);

// How many tensors `optimizer` keeps for a parameter once it has made a step.
size_t SlotsPerParameter(const torch::optim::Optimizer& optimizer);

// Whether zero_grad() leaves a gradient of zeros (LibTorch 1.13) or none (2).
bool ZeroGradLeavesZeros();

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_LIBTORCH_OPTIMIZER_H_
