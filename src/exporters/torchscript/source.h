// torch.nn modules as TorchScript source.
#ifndef LANISTA_SRC_EXPORTERS_TORCHSCRIPT_SOURCE_H_
#define LANISTA_SRC_EXPORTERS_TORCHSCRIPT_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/graph/op_schema.h"

namespace lanista::exporters {

// The class of a module operator in Python: "torch.nn.modules.conv.Conv2d"; "torch.nn.X" if its file is not known.
std::string TorchClass(const graph::OpSchema& schema);

// The method `forward` of a module operator in TorchScript, with the inputs of `node`. Its body is the operator's
// (OpSchema::TorchScriptBody), or that of its supplement. It reads parameters and buffers
// as attributes of self. `frozen`: it always behaves as in evaluation mode. UNIMPLEMENTED names the unsupported part.
absl::StatusOr<std::string> TorchScriptForward(const graph::OpSchema& schema, const graph::Attributes& attributes,
                                               const v1::Node& node, bool frozen);

}  // namespace lanista::exporters

#endif  // LANISTA_SRC_EXPORTERS_TORCHSCRIPT_SOURCE_H_
