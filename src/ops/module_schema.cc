#include "src/ops/module_schema.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"

namespace lanista::ops {
namespace {

AttributeSpec MakeSpec(std::string name, AttributeKind kind, std::optional<v1::Value> default_value, int length = 0) {
  AttributeSpec spec;
  spec.name = std::move(name);
  spec.kind = kind;
  spec.default_value = std::move(default_value);
  spec.length = length;
  return spec;
}

bool IsOneOf(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What schemas compute with integers relies on it: the product of two of them is an int64.
absl::Status CheckIntegers(const std::vector<AttributeSpec>& specs, const Attributes& attributes) {
  constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
  const auto is_far = [](const v1::Value& value) { return value.i() > kLargest || value.i() < -kLargest; };
  for (const AttributeSpec& spec : specs) {
    const v1::Value& value = attributes.Get(spec.name);
    const auto& elements = value.list().values();
    if (!is_far(value) && std::none_of(elements.begin(), elements.end(), is_far)) continue;
    return absl::InvalidArgumentError(absl::StrCat(spec.name, " must lie between ", -kLargest, " and ", kLargest));
  }
  return absl::OkStatus();
}

using Sources = ModuleCalls::Sources;

class ModuleSchema final : public graph::OpSchema {
 public:
  explicit ModuleSchema(ModuleSpec spec) : OpSchema(spec.type), spec_(std::move(spec)) {
    for (const AttributeSpec& attribute : spec_.attributes) AddAttribute(attribute);
    SetInputs(spec_.min_inputs, spec_.max_inputs);
  }

  int NumOutputs(const Attributes& attributes) const override {
    return spec_.count_outputs ? spec_.count_outputs(attributes) : spec_.outputs;
  }
  absl::StatusOr<Types> InferTypes(const OpCall& call) const override { return spec_.infer(call); }
  std::vector<ParameterSpec> Parameters(const Attributes& attributes) const override {
    return spec_.parameters ? spec_.parameters(attributes) : OpSchema::Parameters(attributes);
  }
  std::optional<double> Flops(const OpCall& call, const Types& outputs) const override {
    return spec_.flops ? spec_.flops(call, outputs) : ElementwiseFlops(call, outputs);
  }
  bool IsStateful() const override { return spec_.stateful; }
  absl::StatusOr<std::string> PythonModule(const Attributes& attributes) const override {
    if (spec_.forward_attributes.empty()) return OpSchema::PythonModule(attributes);
    // Writes the constructor's arguments only, with a copy of the schema that lacks the others.
    ModuleSpec constructor{type()};
    for (const AttributeSpec& attribute : spec_.attributes) {
      if (!IsOneOf(attribute.name, spec_.forward_attributes)) constructor.attributes.push_back(attribute);
    }
    return ModuleSchema(std::move(constructor)).OpSchema::PythonModule(attributes);
  }
  absl::StatusOr<std::string> CppModule(const Attributes& attributes) const override {
    return spec_.cpp ? spec_.cpp(attributes) : CppOptions(type(), spec_.attributes, attributes);
  }
  Sources PythonArguments(const Attributes& attributes, const v1::Node& node, Sources inputs) const override {
    const auto& own = spec_.calls.python_arguments;
    return own ? own(attributes, node, std::move(inputs))
               : OpSchema::PythonArguments(attributes, node, std::move(inputs));
  }
  std::string PythonTargets(const Sources& variables) const override {
    return spec_.calls.python_targets ? spec_.calls.python_targets(variables) : OpSchema::PythonTargets(variables);
  }
  absl::StatusOr<std::string> CppForward(const Attributes& attributes, const v1::Node& node, const std::string& module,
                                         Sources inputs) const override {
    const auto& own = spec_.calls.cpp_forward;
    return own ? own(attributes, node, module, std::move(inputs))
               : OpSchema::CppForward(attributes, node, module, std::move(inputs));
  }
  std::string CppResult(const Attributes& attributes, const std::string& result, size_t slot) const override {
    const auto& own = spec_.calls.cpp_result;
    return own ? own(attributes, result, slot) : OpSchema::CppResult(attributes, result, slot);
  }
  std::string TorchModuleFile() const override { return spec_.torchscript.file; }
  absl::StatusOr<std::string> TorchScriptBody(const Attributes& attributes, const v1::Node& node,
                                              bool frozen) const override {
    if (!spec_.torchscript.body) return OpSchema::TorchScriptBody(attributes, node, frozen);
    return spec_.torchscript.body({*this, attributes, node, frozen});
  }
  absl::StatusOr<std::vector<std::string>> ToOnnx(const OpCall& call, OnnxWriter& writer) const override {
    return spec_.onnx ? spec_.onnx(call, writer) : OpSchema::ToOnnx(call, writer);
  }

 protected:
  absl::Status Check(const Attributes& attributes) const override {
    LANISTA_RETURN_IF_ERROR(CheckIntegers(spec_.attributes, attributes));
    return spec_.check ? spec_.check(attributes) : absl::OkStatus();
  }

 private:
  const ModuleSpec spec_;
};

absl::StatusOr<std::string> CppValue(const AttributeSpec& spec, const Attributes& values) {
  switch (spec.kind) {
    case AttributeKind::kInt:
      return absl::StrCat(values.Int(spec.name));
    case AttributeKind::kFloat:
      return CppFloatLiteral(values.Float(spec.name));
    case AttributeKind::kBool:
      return values.Bool(spec.name) ? "true" : "false";
    case AttributeKind::kInts:
      return CppInts(values.Ints(spec.name));
    default:
      return absl::UnimplementedError(
          absl::StrCat("attribute '", spec.name, "' cannot be written for LibTorch's C++ front end"));
  }
}

}  // namespace

AttributeSpec Required(std::string name, AttributeKind kind, int length) {
  return MakeSpec(std::move(name), kind, std::nullopt, length);
}
AttributeSpec WithDefault(std::string name, int64_t value) {
  return MakeSpec(std::move(name), AttributeKind::kInt, graph::IntValue(value));
}
AttributeSpec WithDefault(std::string name, double value) {
  return MakeSpec(std::move(name), AttributeKind::kFloat, graph::FloatValue(value));
}
AttributeSpec WithDefault(std::string name, bool value) {
  return MakeSpec(std::move(name), AttributeKind::kBool, graph::BoolValue(value));
}
AttributeSpec WithDefault(std::string name, const char* value) {
  return MakeSpec(std::move(name), AttributeKind::kString, graph::StringValue(value));
}
AttributeSpec IntsWithDefault(std::string name, int length, int64_t value) {
  return MakeSpec(std::move(name), AttributeKind::kInts, graph::IntValue(value), length);
}
AttributeSpec Optional(std::string name, AttributeKind kind, int length) {
  AttributeSpec spec = MakeSpec(std::move(name), kind, v1::Value(), length);
  spec.nullable = true;
  return spec;
}

std::unique_ptr<graph::OpSchema> MakeModule(ModuleSpec spec) { return std::make_unique<ModuleSchema>(std::move(spec)); }

absl::StatusOr<Types> SameAsInput(const OpCall& call) { return Types{call.inputs.at(0)}; }

std::optional<double> CountElements(const v1::ValueType& type) {
  const auto dims = graph::DimsOf(type);
  if (!dims.has_value()) return std::nullopt;
  double count = 1;
  for (const int64_t dim : *dims) count *= static_cast<double>(std::max<int64_t>(dim, 1));
  return count;
}

std::optional<double> ElementwiseFlops(const OpCall&, const Types& outputs) {
  return outputs.empty() ? 0 : CountElements(outputs[0]);
}

std::optional<double> NoFlops(const OpCall&, const Types&) { return 0; }

std::function<std::optional<double>(const OpCall&, const Types&)> FlopsAnElement(double flops) {
  return [flops](const OpCall&, const Types& outputs) -> std::optional<double> {
    const auto elements = CountElements(outputs[0]);
    return elements.has_value() ? std::make_optional(flops * *elements) : std::nullopt;
  };
}

absl::Status ExpectDim(const v1::ValueType& input, int axis, int64_t expected, const std::string& what) {
  const auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return absl::OkStatus();
  const int rank = static_cast<int>(dims->size());
  const int index = axis < 0 ? rank + axis : axis;
  if (index < 0 || index >= rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("gets ", graph::TypeToText(input), ", which has too few dimensions"));
  }
  if ((*dims)[index] == expected || (*dims)[index] == -1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expects ", expected, " ", what, ", gets ", (*dims)[index], " in ", graph::TypeToText(input)));
}

absl::Status ExpectAtLeast(const Attributes& attributes, const std::vector<std::string>& names, int64_t least) {
  for (const std::string& name : names) {
    const Dims values = attributes.Ints(name);
    if (std::all_of(values.begin(), values.end(), [least](int64_t value) { return value >= least; })) continue;
    return absl::InvalidArgumentError(absl::StrCat(name, " must be at least ", least));
  }
  return absl::OkStatus();
}

absl::Status ExpectRank(const v1::ValueType& input, const std::vector<int>& ranks) {
  const auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return absl::OkStatus();
  if (std::find(ranks.begin(), ranks.end(), static_cast<int>(dims->size())) != ranks.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("expects ", absl::StrJoin(ranks, " or "), " dimensions, gets ", graph::TypeToText(input)));
}

int64_t SlidingSize(int64_t input, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation, bool ceil) {
  if (input < 0) return -1;
  const int64_t span = input + 2 * padding - dilation * (kernel - 1) - 1 + (ceil ? stride - 1 : 0);
  // The division must round down, but C++ rounds towards zero.
  if (span < 0) return 0;
  int64_t size = span / stride + 1;
  if (ceil && (size - 1) * stride >= input + padding) --size;
  return size;
}

absl::Status CppNeedsBatch(const v1::Node& node) {
  const bool alone = node.outputs_size() > 0 && node.outputs(0).shape().dims_size() == 2;
  return alone ? absl::UnimplementedError("LibTorch's module takes batches, and here is a sequence alone")
               : absl::OkStatus();
}

std::string CppInts(const Dims& values) {
  const bool equal = std::all_of(values.begin(), values.end(), [&](int64_t value) { return value == values.front(); });
  if (equal && !values.empty()) return absl::StrCat(values.front());
  return absl::StrCat("{", absl::StrJoin(values, ", "), "}");
}

absl::StatusOr<std::string> CppOptions(const std::string& type, const std::vector<AttributeSpec>& attributes,
                                       const Attributes& values) {
  std::vector<std::string> required;
  std::string rest;
  for (const AttributeSpec& spec : attributes) {
    const bool in_constructor = !spec.default_value.has_value();
    if (!in_constructor && !values.IsSet(spec.name)) continue;
    LANISTA_ASSIGN_OR_RETURN(const std::string value, CppValue(spec, values));
    if (in_constructor) {
      required.push_back(value);
    } else {
      absl::StrAppend(&rest, ".", spec.name, "(", value, ")");
    }
  }
  if (required.empty() && rest.empty()) return absl::StrCat("torch::nn::", type, "()");
  return absl::StrCat("torch::nn::", type, "(torch::nn::", type, "Options(", absl::StrJoin(required, ", "), ")", rest,
                      ")");
}

absl::Status OnnxNeedsRank(const v1::ValueType& input, int rank) {
  const auto dims = graph::DimsOf(input);
  if (!dims.has_value() || static_cast<int>(dims->size()) == rank) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("ONNX wants ", rank, " dimensions here, a batch first; it gets ", graph::TypeToText(input)));
}

std::string OnnxScalar(OnnxWriter& writer, double value) {
  return writer.Constant(std::vector<float>{static_cast<float>(value)}, {});
}

std::function<absl::StatusOr<std::vector<std::string>>(const OpCall&, OnnxWriter&)> OnnxUnary(std::string op_type) {
  return [op_type = std::move(op_type)](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<std::vector<std::string>> {
    return writer.Node(op_type, {writer.Input(0)});
  };
}

}  // namespace lanista::ops
