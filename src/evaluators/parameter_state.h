// What an optimizer keeps for one parameter, whichever class does its work.
#ifndef LANISTA_SRC_EVALUATORS_PARAMETER_STATE_H_
#define LANISTA_SRC_EVALUATORS_PARAMETER_STATE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace lanista {

struct ParameterState {
  // Steps that were made with a gradient. LibTorch's SGD does not count them: 1 stands for any number.
  int64_t steps = 0;
  // It has had a gradient: LibTorch 1.13's zero_grad() leaves zeros for such a parameter.
  bool had_gradient = false;
  // In the order of flat_kernels.h, each of the parameter's shape and type. None before the first step.
  std::vector<at::Tensor> slots;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_PARAMETER_STATE_H_
