// An optimizer's state for one parameter, in a form that does not depend on the class that does the work.
#ifndef LANISTA_SRC_EVALUATORS_PARAMETER_STATE_H_
#define LANISTA_SRC_EVALUATORS_PARAMETER_STATE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lanista {

struct ParameterState {
  // Steps that were made with a gradient. LibTorch's SGD does not count them: 1 stands for any number.
  int64_t steps = 0;
  // Whether the parameter has had a gradient: LibTorch 1.13's zero_grad() leaves zeros for such a parameter.
  bool had_gradient = false;
  // The arrays in the order of flat_kernels.h, each with the parameter's shape and type. Empty before the first step.
  std::vector<at::Tensor> slots;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_PARAMETER_STATE_H_
