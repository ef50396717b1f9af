// How module operators write the forward methods of torch.nn's classes as TorchScript: see OpSchema::TorchScriptBody.
#ifndef LANISTA_SRC_OPS_TORCHSCRIPT_H_
#define LANISTA_SRC_OPS_TORCHSCRIPT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/graph/op_schema.h"

namespace lanista::ops {

// The module that is written. Keeps references.
struct ScriptCall {
  const graph::OpSchema& schema;
  const graph::Attributes& a;
  const v1::Node& node;
  // It always behaves as in evaluation mode.
  bool frozen = false;

  // Whether the module trains: "self.training", or "False" if it is frozen.
  std::string Training() const { return frozen ? "False" : "self.training"; }
  bool HasParameter(absl::string_view name) const;
  // "self.bias", or "None" if there is none.
  std::string Parameter(const std::string& name) const;
  // The values of attributes.
  std::string Int(const std::string& name) const;
  std::string Bool(const std::string& name) const;
  std::string Float(const std::string& name) const;
  std::string Ints(const std::string& name) const;
};

// Writes the body.
using ScriptFunction = std::function<absl::StatusOr<std::string>(const ScriptCall& call)>;

// What an operator has for TorchScript.
struct TorchScriptForm {
  // Of torch.nn.modules.
  std::string file;
  ScriptFunction body;
};

// "[1, 2]"
std::string ScriptInts(const std::vector<int64_t>& values);

// The last line of a body.
std::string ScriptReturn(const std::string& expression);

// Returns `format`, an expression with $0 = "_" if the module works in place, and with attributes as $1 to $3.
ScriptFunction ScriptExpression(std::string format, std::vector<std::string> attributes = {});

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_TORCHSCRIPT_H_
