#include "src/graph/allowed_operators.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace lanista::graph {
namespace {

// Without overloads.
const std::set<std::string>& Refused() {
  static const auto* const names =
      new std::set<std::string>{"aten::from_file",  "aten::save",     "prim::rpc_async",  "prim::rpc_sync",
                                "prim::rpc_remote", "prim::PythonOp", "prim::CallPython", "prim::IgnoredPythonOp"};
  return *names;
}

}  // namespace

absl::Status OperatorRefused(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("operator '", what,
                   "' is refused: it may touch files, processes or other machines, or is none of LibTorch's own"));
}

absl::Status CheckOperatorAllowed(absl::string_view type) {
  const bool known_namespace = absl::StartsWith(type, "aten::") || absl::StartsWith(type, "prim::");
  const std::string name(type.substr(0, type.find('.')));
  return known_namespace && Refused().count(name) == 0 ? absl::OkStatus() : OperatorRefused(type);
}

}  // namespace lanista::graph
