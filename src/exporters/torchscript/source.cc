#include "src/exporters/torchscript/source.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "src/base/status.h"
#include "src/exporters/common/supplements.h"

namespace lanista::exporters {

std::string TorchClass(const graph::OpSchema& schema) {
  if (const Supplement* const supplement = FindSupplement(schema.type())) return supplement->qualified_name;
  const std::string file = schema.TorchModuleFile();
  return absl::StrCat("torch.nn.", file.empty() ? "" : absl::StrCat("modules.", file, "."), schema.type());
}

absl::StatusOr<std::string> TorchScriptForward(const graph::OpSchema& schema, const graph::Attributes& attributes,
                                               const v1::Node& node, bool frozen) {
  std::string body;
  if (const Supplement* const supplement = FindSupplement(schema.type())) {
    body = absl::Substitute(supplement->torchscript(attributes), frozen ? "False" : "self.training");
  } else {
    LANISTA_ASSIGN_OR_RETURN(body, schema.TorchScriptBody(attributes, node, frozen));
  }
  std::string inputs = "input: Tensor";
  for (int i = 1; i < node.inputs_size(); ++i) absl::StrAppend(&inputs, ", input_", i, ": Tensor");
  return absl::StrCat("def forward(self, ", inputs, "):\n  ", body, "\n");
}

}  // namespace lanista::exporters
