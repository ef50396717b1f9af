#include "src/ops/aten/schema.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"
#include "src/ops/source_template.h"

namespace lanista::ops {
namespace {

v1::Value ParseDefault(const std::string& text) {
  int64_t integer = 0;
  double number = 0;
  if (text == "None") return v1::Value();
  if (text == "True" || text == "False") return graph::BoolValue(text == "True");
  if (text == "[]") return graph::IntsValue({});
  if (text[0] == '"') return graph::StringValue(text.substr(1, text.size() - 2));
  if (absl::SimpleAtoi(text, &integer)) return graph::IntValue(integer);
  return absl::SimpleAtod(text, &number) ? graph::FloatValue(number) : v1::Value();
}

class AtenSchema final : public graph::OpSchema {
 public:
  explicit AtenSchema(AtenSpec spec)
      : OpSchema(absl::StrContains(spec.type, "::") ? spec.type : "aten::" + spec.type), spec_(std::move(spec)) {
    bool keyword = false;
    for (const absl::string_view part : absl::StrSplit(spec_.arguments, ", ")) {
      if (part == "*") {
        keyword = true;
        continue;
      }
      const std::vector<std::string> sides = absl::StrSplit(part, absl::MaxSplits('=', 1));
      AttributeSpec argument = Optional(sides[0], AttributeKind::kAny);
      if (sides.size() > 1) argument.default_value = ParseDefault(sides[1]);
      if (keyword) keywords_.insert(argument.name);
      AddAttribute(argument);
    }
    SetInputs(0, -1);
  }

  int NumOutputs(const Attributes&) const override { return spec_.outputs; }
  bool KeepsElements() const override { return spec_.keeps_elements; }
  bool IsStateful() const override { return spec_.stateful; }
  bool MayStandWithinExpressions() const override { return spec_.within_expressions; }

  absl::StatusOr<Types> InferTypes(const OpCall& call) const override {
    const v1::Node node = WithNames(call.node);
    LANISTA_RETURN_IF_ERROR(CheckFirst(node));
    return spec_.infer({node, Attributes(*this, node.op()), call.inputs});
  }
  std::optional<double> Flops(const OpCall& call, const Types& outputs) const override {
    const v1::Node node = WithNames(call.node);
    return spec_.flops({node, Attributes(*this, node.op()), call.inputs}, outputs);
  }
  absl::StatusOr<Names> ToOnnx(const OpCall& call, OnnxWriter& writer) const override {
    if (!spec_.onnx) return OpSchema::ToOnnx(call, writer);
    const v1::Node node = WithNames(call.node);
    LANISTA_RETURN_IF_ERROR(CheckFirst(node));
    return spec_.onnx({node, Attributes(*this, node.op()), call.inputs, call.outputs}, writer);
  }

  absl::StatusOr<std::string> PythonCall(const Sources& arguments) const override {
    if (const auto whole = spec_.write_python ? spec_.write_python(arguments) : std::nullopt) return *whole;
    if (!spec_.python.empty() && Uses(spec_.python) == Given(arguments)) return FillTemplate(spec_.python, arguments);
    if (!spec_.python_function.empty()) return Call(spec_.python_function, arguments, 0, true);
    if (!spec_.function.empty()) return Call("torch." + spec_.function, arguments, 0, true);
    const auto self = arguments.find(attributes()[0].name);
    if (!spec_.method.empty() && self != arguments.end()) {
      return Call(absl::StrCat(self->second, ".", spec_.method), arguments, 1, true);
    }
    const std::string name = spec_.type.find('.') == std::string::npos ? spec_.type + ".default" : spec_.type;
    return Call("torch.ops.aten." + name, arguments, 0, true);
  }

  absl::StatusOr<std::string> CppCall(const Sources& arguments) const override {
    if (!spec_.cpp.empty()) {
      const std::set<std::string> needed = Uses(spec_.cpp), given = Given(arguments);
      const bool all = std::includes(given.begin(), given.end(), needed.begin(), needed.end());
      return all ? FillTemplate(spec_.cpp, arguments) : OpSchema::CppCall(arguments);
    }
    const auto self = arguments.find(attributes()[0].name);
    const bool method = !spec_.method.empty() && self != arguments.end();
    if (!method && spec_.function.empty()) return OpSchema::CppCall(arguments);
    // C++ has no keyword arguments, so no argument before a given one may be left out.
    bool skipped = false;
    for (const AttributeSpec& argument : attributes()) {
      const bool given = arguments.count(argument.name) > 0;
      if (given && skipped) return OpSchema::CppCall(arguments);
      skipped = skipped || !given;
    }
    return method ? Call(absl::StrCat(self->second, ".", spec_.method), arguments, 1, false)
                  : Call("torch::" + spec_.function, arguments, 0, false);
  }

 private:
  // The arguments that a template uses.
  std::set<std::string> Uses(const std::string& source) const {
    std::set<std::string> names;
    for (const AttributeSpec& argument : attributes()) {
      if (absl::StrContains(source, absl::StrCat("{", argument.name, "}"))) names.insert(argument.name);
    }
    return names;
  }

  static std::set<std::string> Given(const Sources& arguments) {
    std::set<std::string> names;
    for (const auto& [name, source] : arguments) names.insert(name);
    return names;
  }

  // Edges without an argument name are counted in order.
  v1::Node WithNames(const v1::Node& from) const {
    v1::Node node = from;
    for (int i = 0; i < node.inputs_size() && i < static_cast<int>(attributes().size()); ++i) {
      if (node.inputs(i).arg().empty()) node.mutable_inputs(i)->set_arg(attributes()[i].name);
    }
    return node;
  }

  absl::Status CheckFirst(const v1::Node& node) const {
    const std::string& first = attributes()[0].name;
    if (spec_.any_inputs || (node.inputs_size() > 0 && node.inputs(0).arg() == first)) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the first input must be the argument '", first, "'"));
  }

  // `first`: index of the first argument inside the parentheses.
  std::string Call(const std::string& function, const Sources& arguments, size_t first, bool python) const {
    Names parts;
    bool by_name = false;
    for (size_t i = first; i < attributes().size(); ++i) {
      const std::string& name = attributes()[i].name;
      const auto given = arguments.find(name);
      by_name = by_name || given == arguments.end() || keywords_.count(name) > 0;
      if (given == arguments.end()) continue;
      parts.push_back(by_name && python ? absl::StrCat(name, "=", given->second) : given->second);
    }
    // Writes x.view(-1, 8) rather than x.view([-1, 8]).
    if (python && first == 1 && parts.size() == 1 && absl::StartsWith(parts[0], "[") && parts[0].size() > 2 &&
        !IsCompound(parts[0])) {
      parts[0] = parts[0].substr(1, parts[0].size() - 2);
    }
    return absl::StrCat(function, "(", absl::StrJoin(parts, ", "), ")");
  }

  const AtenSpec spec_;
  std::set<std::string> keywords_;
};

}  // namespace

std::unique_ptr<graph::OpSchema> MakeAten(AtenSpec spec) { return std::make_unique<AtenSchema>(std::move(spec)); }

namespace {

AtenSpec Spec(const std::string& type, const std::string& arguments, InferFunction infer, OnnxFunction onnx) {
  AtenSpec spec;
  spec.type = type;
  spec.arguments = arguments;
  spec.infer = std::move(infer);
  spec.onnx = std::move(onnx);
  return spec;
}

std::string WithoutOverload(const std::string& type) { return type.substr(0, type.find('.')); }

}  // namespace

AtenSpec Function(const std::string& type, const std::string& arguments, InferFunction infer, OnnxFunction onnx) {
  AtenSpec spec = Spec(type, arguments, std::move(infer), std::move(onnx));
  spec.function = WithoutOverload(type);
  return spec;
}

AtenSpec Method(const std::string& type, const std::string& arguments, InferFunction infer, OnnxFunction onnx) {
  AtenSpec spec = Spec(type, arguments, std::move(infer), std::move(onnx));
  spec.method = WithoutOverload(type);
  return spec;
}

AtenSpec OnNumbers(const std::string& type, const std::string& arguments, InferFunction infer, OnnxFunction onnx) {
  AtenSpec spec = Move(Spec(type, arguments, std::move(infer), std::move(onnx)));
  spec.any_inputs = true;
  return spec;
}

AtenSpec Move(AtenSpec spec) {
  spec.flops = NoFlops;
  return spec;
}

}  // namespace lanista::ops
