#include "src/exporters/onnx/memory_sharing.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace lanista::exporters {
namespace {

// "aten::add_" of aten::add_.Tensor.
absl::string_view WithoutOverload(absl::string_view type) { return type.substr(0, type.find('.')); }

}  // namespace

bool WorksInPlace(const v1::Operator& op) {
  const absl::string_view name = WithoutOverload(op.type());
  if (absl::StartsWith(name, "aten::")) return absl::EndsWith(name, "_") && !absl::EndsWith(name, "__");
  return std::any_of(op.attr().begin(), op.attr().end(), [](const v1::Attribute& attribute) {
    return attribute.key() == "inplace" && attribute.value().b();
  });
}

Sharing SharingOf(const v1::Node& node) {
  static const auto* const operators = [] {
    auto* const all = new std::map<std::string, Sharing, std::less<>>;
    for (const char* const type :
         {"AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout", "Identity",
          "StochasticDepth", "aten::detach", "aten::dropout"}) {
      all->emplace(type, Sharing::kAll);
    }
    for (const char* const type : {"chunk", "split", "split_with_sizes", "unbind"}) {
      all->emplace(absl::StrCat("aten::", type), Sharing::kPieces);
    }
    for (const char* const type : {"as_tensor", "contiguous", "expand", "flatten", "narrow", "permute", "reshape",
                                   "select", "slice", "squeeze", "t", "to", "transpose", "unsqueeze", "view"}) {
      all->emplace(absl::StrCat("aten::", type), Sharing::kView);
    }
    all->emplace("Flatten", Sharing::kView);
    all->emplace("Unflatten", Sharing::kView);
    return all;
  }();
  const absl::string_view type = WithoutOverload(node.op().type());
  // Of one operand it may only move dimensions.
  if (type == "aten::einsum" && node.inputs_size() == 1) return Sharing::kView;
  const auto found = operators->find(type);
  return found == operators->end() ? Sharing::kNothing : found->second;
}

}  // namespace lanista::exporters
