// Linear, Bilinear, Identity.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

absl::StatusOr<Types> InferLinear(const OpCall& call) {
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectDim(input, -1, call.attributes.Int("in_features"), "input features (in_features)"));
  auto dims = graph::DimsOf(input);
  if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
  dims->back() = call.attributes.Int("out_features");
  return Types{graph::TensorType(input.data_type(), *dims)};
}

std::vector<ParameterSpec> LinearParameters(const Attributes& a) {
  std::vector<ParameterSpec> parameters = {{"weight", {a.Int("out_features"), a.Int("in_features")}}};
  if (a.Bool("bias")) parameters.push_back({"bias", {a.Int("out_features")}});
  return parameters;
}

std::optional<double> LinearFlops(const OpCall& call, const Types& outputs) {
  const auto elements = CountElements(outputs[0]);
  if (!elements.has_value()) return std::nullopt;
  return *elements *
         (2.0 * static_cast<double>(call.attributes.Int("in_features")) + (call.attributes.Bool("bias") ? 1 : 0));
}

absl::Status CheckLinear(const Attributes& a) {
  if (a.Int("in_features") > 0 && a.Int("out_features") > 0) return absl::OkStatus();
  return absl::InvalidArgumentError("in_features and out_features must be at least 1");
}

absl::StatusOr<Names> LinearToOnnx(const OpCall& call, OnnxWriter& writer) {
  const bool bias = call.attributes.Bool("bias");
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (dims.has_value() && dims->size() == 2) {
    Names inputs = {writer.Input(0), writer.Parameter("weight")};
    if (bias) inputs.push_back(writer.Parameter("bias"));
    return writer.Node("Gemm", inputs, {{"transB", int64_t{1}}});
  }
  const Names weight = writer.Node("Transpose", {writer.Parameter("weight")}, {{"perm", std::vector<int64_t>{1, 0}}});
  const Names product = writer.Node("MatMul", {writer.Input(0), weight[0]});
  return bias ? writer.Node("Add", {product[0], writer.Parameter("bias")}) : product;
}

ModuleSpec Linear() {
  ModuleSpec spec{"Linear",
                  {Required("in_features", AttributeKind::kInt), Required("out_features", AttributeKind::kInt),
                   WithDefault("bias", true)},
                  InferLinear};
  spec.parameters = LinearParameters;
  spec.flops = LinearFlops;
  spec.check = CheckLinear;
  spec.onnx = LinearToOnnx;
  spec.torchscript = {
      "linear", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
        return ScriptReturn(absl::StrCat("torch.linear(input, self.weight, ", call.Parameter("bias"), ")"));
      }};
  return spec;
}

ModuleSpec Identity() {
  ModuleSpec spec{"Identity", {}, SameAsInput};
  spec.flops = NoFlops;
  spec.onnx = OnnxUnary("Identity");
  spec.torchscript = {"linear", ScriptExpression("input")};
  return spec;
}

absl::StatusOr<Types> InferBilinear(const OpCall& call) {
  const Attributes& a = call.attributes;
  const v1::ValueType &first = call.inputs[0], &second = call.inputs[1];
  LANISTA_RETURN_IF_ERROR(ExpectDim(first, -1, a.Int("in1_features"), "features of the first input (in1_features)"));
  LANISTA_RETURN_IF_ERROR(ExpectDim(second, -1, a.Int("in2_features"), "features of the second input (in2_features)"));
  auto dims = graph::DimsOf(first);
  const auto others = graph::DimsOf(second);
  if (!dims.has_value() || !others.has_value()) return Types{graph::TensorType(first.data_type())};
  bool same = dims->size() == others->size();
  for (size_t i = 0; same && i + 1 < dims->size(); ++i) {
    same = (*dims)[i] == (*others)[i] || (*dims)[i] < 0 || (*others)[i] < 0;
    if ((*dims)[i] < 0) (*dims)[i] = (*others)[i];
  }
  if (!same) {
    return absl::InvalidArgumentError(absl::StrCat("expects inputs that are alike but for their features, gets ",
                                                   graph::TypeToText(first), " and ", graph::TypeToText(second)));
  }
  dims->back() = a.Int("out_features");
  return Types{graph::TensorType(first.data_type(), *dims)};
}

// y = x1 A x2 + b, with a matrix A for each output feature.
ModuleSpec Bilinear() {
  ModuleSpec spec{"Bilinear",
                  {Required("in1_features", AttributeKind::kInt), Required("in2_features", AttributeKind::kInt),
                   Required("out_features", AttributeKind::kInt), WithDefault("bias", true)},
                  InferBilinear};
  spec.parameters = [](const Attributes& a) {
    std::vector<ParameterSpec> parameters = {
        {"weight", {a.Int("out_features"), a.Int("in1_features"), a.Int("in2_features")}}};
    if (a.Bool("bias")) parameters.push_back({"bias", {a.Int("out_features")}});
    return parameters;
  };
  spec.check = [](const Attributes& a) -> absl::Status {
    if (a.Int("in1_features") > 0 && a.Int("in2_features") > 0 && a.Int("out_features") > 0) return absl::OkStatus();
    return absl::InvalidArgumentError("in1_features, in2_features and out_features must be at least 1");
  };
  // x1 A needs a multiply-add for each element of A; the product with x2 follows.
  spec.flops = [](const OpCall& call, const Types& outputs) -> std::optional<double> {
    const Attributes& a = call.attributes;
    const auto in1 = static_cast<double>(a.Int("in1_features")), in2 = static_cast<double>(a.Int("in2_features"));
    return FlopsAnElement(2 * in1 * in2 + 2 * in2 + (a.Bool("bias") ? 1 : 0))(call, outputs);
  };
  spec.torchscript = {
      "linear", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
        return ScriptReturn(absl::StrCat("torch.bilinear(input, input_1, self.weight, ", call.Parameter("bias"), ")"));
      }};
  spec.min_inputs = spec.max_inputs = 2;
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Linear()));
LANISTA_REGISTER_OP(MakeModule(Bilinear()));
LANISTA_REGISTER_OP(MakeModule(Identity()));

}  // namespace
}  // namespace lanista::ops
