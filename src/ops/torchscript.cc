#include "src/ops/torchscript.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"

namespace lanista::ops {
namespace {

std::string AttributeText(const ScriptCall& call, const std::string& name) {
  switch (call.schema.FindAttribute(name)->kind) {
    case graph::AttributeKind::kInt:
      return call.Int(name);
    case graph::AttributeKind::kString:
      return StringLiteral(call.a.String(name));
    case graph::AttributeKind::kBool:
      return call.Bool(name);
    case graph::AttributeKind::kInts:
      return call.Ints(name);
    default:
      return call.Float(name);
  }
}

}  // namespace

bool ScriptCall::HasParameter(absl::string_view name) const {
  const std::vector<graph::ParameterSpec> parameters = schema.Parameters(a);
  return std::any_of(parameters.begin(), parameters.end(),
                     [name](const graph::ParameterSpec& parameter) { return parameter.name == name; });
}

std::string ScriptCall::Parameter(const std::string& name) const {
  return HasParameter(name) ? absl::StrCat("self.", name) : std::string("None");
}

std::string ScriptCall::Int(const std::string& name) const { return absl::StrCat(a.Int(name)); }

std::string ScriptCall::Bool(const std::string& name) const { return a.Bool(name) ? "True" : "False"; }

std::string ScriptCall::Float(const std::string& name) const {
  return absl::StrCat("(", PythonFloatLiteral(a.Float(name)), ")");
}

std::string ScriptCall::Ints(const std::string& name) const { return ScriptInts(a.Ints(name)); }

std::string ScriptInts(const std::vector<int64_t>& values) {
  return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
}

std::string ScriptReturn(const std::string& expression) { return absl::StrCat("return ", expression); }

ScriptFunction ScriptExpression(std::string format, std::vector<std::string> attributes) {
  return [format = std::move(format),
          attributes = std::move(attributes)](const ScriptCall& call) -> absl::StatusOr<std::string> {
    std::vector<std::string> values(3);
    for (size_t i = 0; i < attributes.size(); ++i) values[i] = AttributeText(call, attributes[i]);
    const bool inplace = call.schema.FindAttribute("inplace") != nullptr && call.a.Bool("inplace");
    return ScriptReturn(absl::Substitute(format, inplace ? "_" : "", values[0], values[1], values[2]));
  };
}

}  // namespace lanista::ops
