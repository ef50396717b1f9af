// Which LibTorch operators a model may use: models come from untrusted files.
#ifndef LANISTA_SRC_GRAPH_ALLOWED_OPERATORS_H_
#define LANISTA_SRC_GRAPH_ALLOWED_OPERATORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lanista::graph {

// OK for operators ("aten::add.Tensor") of the namespaces aten and prim, except those that access files, processes or
// other machines. INVALID_ARGUMENT for all others: "operator 'aten::save' is refused: ...". Does not check whether
// LibTorch has the operator.
absl::Status CheckOperatorAllowed(absl::string_view type);

// The same error for something that is not an operator of LibTorch.
absl::Status OperatorRefused(absl::string_view what);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_ALLOWED_OPERATORS_H_
