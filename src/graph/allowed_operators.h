// Which of LibTorch's operators a model may use: models come from files of others.
#ifndef LANISTA_SRC_GRAPH_ALLOWED_OPERATORS_H_
#define LANISTA_SRC_GRAPH_ALLOWED_OPERATORS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lanista::graph {

// OK for operators ("aten::add.Tensor") of the namespaces aten and prim, but those that touch files, processes or other
// machines. INVALID_ARGUMENT: all others, "operator 'aten::save' is refused: ...". Whether LibTorch has the operator
// is another question.
absl::Status CheckOperatorAllowed(absl::string_view type);

// The error that CheckOperatorAllowed gives, for what is none of LibTorch's operators.
absl::Status OperatorRefused(absl::string_view what);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_ALLOWED_OPERATORS_H_
