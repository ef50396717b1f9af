// Finds tensors on which a model's loss depends, but which no optimizer of the model changes.
#ifndef LANISTA_SRC_EVALUATORS_TRAINS_MODEL_H_
#define LANISTA_SRC_EVALUATORS_TRAINS_MODEL_H_

#include <ATen/core/Tensor.h>

#include "absl/status/status.h"

namespace torch::nn {
class Module;
}  // namespace torch::nn

namespace lanista {

// OK if `loss` depends on parameters of `model`, and on no other tensor that requires gradients. Otherwise
// FAILED_PRECONDITION: a layer that is not registered, or that forward makes anew each time, is not trained, and the
// model's score would be misleading. The message names the tensors' shapes and the operators that use them. Walks the
// graph of `loss`, so call it once, in the first step. Users' own evaluators may call it, too.
absl::Status CheckTrainsModel(const at::Tensor& loss, const torch::nn::Module& model);

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_TRAINS_MODEL_H_
