// Finds what a model's loss depends on and no optimizer of the model moves.
#ifndef LANISTA_SRC_EVALUATORS_TRAINS_MODEL_H_
#define LANISTA_SRC_EVALUATORS_TRAINS_MODEL_H_

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include "absl/status/status.h"

namespace lanista {

// OK if `loss` depends on parameters of `model` and, of all tensors that require gradients, on no others. Else
// FAILED_PRECONDITION: a layer that is not registered, or is made anew in each forward, is not trained, and the model
// would be judged as if it were. The message tells shapes and the operators that use them. Walks the graph of `loss`:
// call it once, in the first step. For evaluators of users' own as well.
absl::Status CheckTrainsModel(const at::Tensor& loss, const torch::nn::Module& model);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_TRAINS_MODEL_H_
