// The TorchScript bodies of torch.nn's larger layers, which source.cc puts into methods.
#ifndef LANISTA_SRC_EXPORTERS_TORCHSCRIPT_LAYERS_H_
#define LANISTA_SRC_EXPORTERS_TORCHSCRIPT_LAYERS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/op_schema.h"

namespace lanista::exporters {

// The input of the functions below. A body is a list of statements on `input` (`input_1`, ... for further inputs); all
// lines but the first are indented by two spaces, and the last line returns.
struct ScriptContext {
  const graph::OpSchema& schema;
  const graph::Attributes& a;
  const v1::Node& node;
  // "self.training" or "False".
  std::string training;

  const std::string& type() const { return schema.type(); }
  // Number of spatial dimensions: 2 for "Conv2d".
  int Dims() const;
  bool HasParameter(absl::string_view name) const;
  // "self.bias", or "None" if there is none.
  std::string Parameter(const std::string& name) const;
  // Whether the operator has an attribute of this name.
  bool Knows(absl::string_view name) const { return schema.FindAttribute(name) != nullptr; }
  // The values of attributes as TorchScript writes them.
  std::string Int(const std::string& name) const;
  std::string Bool(const std::string& name) const;
  std::string Float(const std::string& name) const;
  std::string Ints(const std::string& name) const;
};

absl::StatusOr<std::string> ConvolutionBody(const ScriptContext& c);
absl::StatusOr<std::string> BatchNormBody(const ScriptContext& c);
absl::StatusOr<std::string> InstanceNormBody(const ScriptContext& c);
absl::StatusOr<std::string> LocalResponseNormBody(const ScriptContext& c);
absl::StatusOr<std::string> MaxPoolBody(const ScriptContext& c);
absl::StatusOr<std::string> AvgPoolBody(const ScriptContext& c);
absl::StatusOr<std::string> LpPoolBody(const ScriptContext& c);
absl::StatusOr<std::string> AdaptivePoolBody(const ScriptContext& c);
absl::StatusOr<std::string> GroupNormBody(const ScriptContext& c);
absl::StatusOr<std::string> LayerNormBody(const ScriptContext& c);
absl::StatusOr<std::string> UpsampleBody(const ScriptContext& c);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TORCHSCRIPT_LAYERS_H_
