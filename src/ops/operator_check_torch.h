// Which operators the code in a TorchScript module may use.
#ifndef LANISTA_SRC_OPS_OPERATOR_CHECK_TORCH_H_
#define LANISTA_SRC_OPS_OPERATOR_CHECK_TORCH_H_

#include <torch/script.h>

#include "absl/status/status.h"

namespace lanista::ops {

// OK if nothing that was compiled for the module uses an operator that graph::CheckOperatorAllowed refuses, or a class
// of C++ code: no method of any class, whether it is called by name, through an interface, or by nobody.
// INVALID_ARGUMENT names class or function, and operator. REQUIRES: torch::jit::load made the module.
absl::Status CheckOperators(const torch::jit::Module& module);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_OPERATOR_CHECK_TORCH_H_
