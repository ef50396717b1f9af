#include "src/exporters/onnx/memory_sharing.h"

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"

namespace lanista::exporters {

bool WorksInPlace(const v1::Operator& op) {
  absl::string_view name = op.type();
  if (absl::ConsumePrefix(&name, "aten::")) {
    name = name.substr(0, name.find('.'));
    return absl::EndsWith(name, "_") && !absl::EndsWith(name, "__");
  }
  return std::any_of(op.attr().begin(), op.attr().end(), [](const v1::Attribute& attribute) {
    return attribute.key() == "inplace" && attribute.value().b();
  });
}

bool MayReturnView(absl::string_view type) {
  static const auto* const modules = new std::set<absl::string_view>{"Flatten", "Identity", "Unflatten"};
  static const auto* const functions = new std::set<absl::string_view>{
      "as_tensor", "chunk",  "contiguous", "detach", "expand",           "flatten", "narrow", "permute",
      "reshape",   "select", "slice",      "split",  "split_with_sizes", "squeeze", "t",      "to",
      "transpose", "unbind", "unsqueeze",  "view"};
  if (!absl::ConsumePrefix(&type, "aten::")) return modules->count(type) > 0;
  return functions->count(type.substr(0, type.find('.'))) > 0;
}

}  // namespace lanista::exporters
