// Which operators the code in a TorchScript module may use.
#ifndef LANISTA_SRC_RUNTIME_OPERATOR_CHECK_TORCH_H_
#define LANISTA_SRC_RUNTIME_OPERATOR_CHECK_TORCH_H_

#include <torch/csrc/jit/api/module.h>

#include "absl/status/status.h"

namespace lanista::runtime {

// OK if no code of the module uses an operator that graph::CheckOperatorAllowed refuses, or a class that is implemented
// in C++. Checks every method of every class in the file, even those that are called through an interface or never
// called. INVALID_ARGUMENT names the class or function, and the operator. REQUIRES: torch::jit::load made the module.
absl::Status CheckOperators(const torch::jit::Module& module);

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_OPERATOR_CHECK_TORCH_H_
