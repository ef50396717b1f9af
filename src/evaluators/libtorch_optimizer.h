// LibTorch's optimizers from their configurations.
#ifndef LANISTA_SRC_EVALUATORS_LIBTORCH_OPTIMIZER_H_
#define LANISTA_SRC_EVALUATORS_LIBTORCH_OPTIMIZER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <vector>

#include "protos/experiment.pb.h"

namespace torch::optim {
class Optimizer;
}  // namespace torch::optim

namespace lanista {

// The torch::optim class that `config` names, over `parameters`; fields that are absent have LibTorch's defaults.
// REQUIRES: `config` is one that CheckConfig accepts.
std::unique_ptr<torch::optim::Optimizer> MakeLibTorchOptimizer(const v1::OptimizerConfig& config,
                                                               std::vector<at::Tensor> parameters);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_LIBTORCH_OPTIMIZER_H_
