// Padding by a constant, by reflection and by replication.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

enum class PadMode { kConstant, kReflect, kReplicate };

// `padding` lists (before, after) for each dimension, the last dimension first.
absl::StatusOr<Types> InferPad(const OpCall& call, int dims, PadMode mode) {
  const v1::ValueType& input = call.inputs[0];
  // A constant can pad an input of any rank with at least these dimensions.
  if (mode != PadMode::kConstant) LANISTA_RETURN_IF_ERROR(ExpectRank(input, {dims + 1, dims + 2}));
  auto sizes = graph::DimsOf(input);
  if (!sizes.has_value()) return Types{graph::TensorType(input.data_type())};
  if (static_cast<int>(sizes->size()) < dims) {
    return absl::InvalidArgumentError(
        absl::StrCat("pads ", dims, " dimensions, gets ", sizes->size(), " in ", graph::TypeToText(input)));
  }
  const Dims padding = call.attributes.Ints("padding");
  for (int i = 0; i < dims; ++i) {
    int64_t& size = (*sizes)[sizes->size() - 1 - i];
    if (size < 0) continue;
    const int64_t before = padding[2 * i], after = padding[2 * i + 1];
    if (mode == PadMode::kReflect && (before >= size || after >= size)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot reflect ", std::max(before, after), " of ", size,
                                                     " elements in ", graph::TypeToText(input)));
    }
    const int64_t input_size = size;
    size += before + after;
    if (size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("a padding of ", before, " and ", after, " leaves nothing of ",
                                                     input_size, " in ", graph::TypeToText(input)));
    }
  }
  return Types{graph::TensorType(input.data_type(), *sizes)};
}

// Whether the constant is 0: the class has no attribute for it.
bool PadsWithZero(const Attributes& a) { return a.Get("value").kind_case() == v1::Value::KIND_NOT_SET; }

absl::StatusOr<Names> PadToOnnx(const OpCall& call, OnnxWriter& writer, int dims, PadMode mode) {
  const auto sizes = graph::DimsOf(call.inputs[0]);
  if (!sizes.has_value()) {
    return absl::FailedPreconditionError("padding needs the input's rank for ONNX: give input_shape");
  }
  const auto rank = static_cast<int64_t>(sizes->size());
  const Dims padding = call.attributes.Ints("padding");
  Dims pads(2 * rank, 0);
  for (int i = 0; i < dims; ++i) {
    pads[rank - 1 - i] = padding[2 * i];
    pads[2 * rank - 1 - i] = padding[2 * i + 1];
  }
  Names inputs = {writer.Input(0), writer.Constant(pads, {2 * rank})};
  if (mode == PadMode::kConstant) {
    const double value = PadsWithZero(call.attributes) ? 0 : call.attributes.Float("value");
    inputs.push_back(writer.Constant(std::vector<float>{static_cast<float>(value)}, {}));
  }
  const std::string name = mode == PadMode::kConstant ? "constant" : mode == PadMode::kReflect ? "reflect" : "edge";
  return writer.Node("Pad", inputs, {{"mode", name}});
}

absl::StatusOr<std::string> PadToScript(const ScriptCall& call, int dims, PadMode mode) {
  const std::string padding = call.Ints("padding");
  if (mode == PadMode::kConstant) {
    const std::string value = PadsWithZero(call.a) ? "0." : call.Float("value");
    return ScriptReturn(absl::StrCat("torch.constant_pad_nd(input, ", padding, ", ", value, ")"));
  }
  return ScriptReturn(absl::StrCat("torch.", mode == PadMode::kReflect ? "reflection" : "replication", "_pad", dims,
                                   "d(input, ", padding, ")"));
}

ModuleSpec Pad(const std::string& name, int dims, PadMode mode) {
  ModuleSpec spec{absl::StrCat(name, dims, "d"), {Required("padding", AttributeKind::kInts, 2 * dims)}};
  spec.infer = [=](const OpCall& call) { return InferPad(call, dims, mode); };
  spec.flops = NoFlops;
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) { return PadToOnnx(call, writer, dims, mode); };
  spec.torchscript = {"padding", [=](const ScriptCall& call) { return PadToScript(call, dims, mode); }};
  return spec;
}

ModuleSpec ConstantPad(int dims) {
  ModuleSpec spec = Pad("ConstantPad", dims, PadMode::kConstant);
  spec.attributes.push_back(Required("value", AttributeKind::kFloat));
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(ConstantPad(1)));
LANISTA_REGISTER_OP(MakeModule(ConstantPad(2)));
LANISTA_REGISTER_OP(MakeModule(ConstantPad(3)));
LANISTA_REGISTER_OP(MakeModule(Pad("ZeroPad", 2, PadMode::kConstant)));
LANISTA_REGISTER_OP(MakeModule(Pad("ReflectionPad", 1, PadMode::kReflect)));
LANISTA_REGISTER_OP(MakeModule(Pad("ReflectionPad", 2, PadMode::kReflect)));
LANISTA_REGISTER_OP(MakeModule(Pad("ReflectionPad", 3, PadMode::kReflect)));
LANISTA_REGISTER_OP(MakeModule(Pad("ReplicationPad", 1, PadMode::kReplicate)));
LANISTA_REGISTER_OP(MakeModule(Pad("ReplicationPad", 2, PadMode::kReplicate)));
LANISTA_REGISTER_OP(MakeModule(Pad("ReplicationPad", 3, PadMode::kReplicate)));

}  // namespace
}  // namespace lanista::ops
