// Which operators an imported model may use.
#ifndef LANISTA_SRC_FRONTENDS_ALLOW_LIST_H_
#define LANISTA_SRC_FRONTENDS_ALLOW_LIST_H_

#include <torch/script.h>

#include "absl/status/status.h"

namespace lanista::frontends {

// OK if no method of the module, or of what is in it, uses an operator that touches files, processes or other machines:
// only the namespaces aten and prim, and no names in them that do. INVALID_ARGUMENT names operator and class.
absl::Status CheckOperators(const torch::jit::Module& module);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_ALLOW_LIST_H_
