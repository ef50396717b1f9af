// Linear, Identity, Embedding.
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
  return spec;
}

ModuleSpec Identity() {
  ModuleSpec spec{"Identity", {}, SameAsInput};
  spec.flops = [](const OpCall&, const Types&) { return 0; };
  spec.onnx = OnnxUnary("Identity");
  return spec;
}

absl::StatusOr<Types> InferEmbedding(const OpCall& call) {
  auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value()) return Types{graph::TensorType(v1::FLOAT32)};
  dims->push_back(call.attributes.Int("embedding_dim"));
  return Types{graph::TensorType(v1::FLOAT32, *dims)};
}

ModuleSpec Embedding() {
  ModuleSpec spec{
      "Embedding",
      {Required("num_embeddings", AttributeKind::kInt), Required("embedding_dim", AttributeKind::kInt),
       Optional("padding_idx", AttributeKind::kInt), Optional("max_norm", AttributeKind::kFloat),
       WithDefault("norm_type", 2.0), WithDefault("scale_grad_by_freq", false), WithDefault("sparse", false)},
      InferEmbedding};
  spec.parameters = [](const Attributes& a) {
    return std::vector<ParameterSpec>{{"weight", {a.Int("num_embeddings"), a.Int("embedding_dim")}}};
  };
  // Looking up is no arithmetic.
  spec.flops = [](const OpCall&, const Types&) { return 0; };
  spec.onnx = [](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node("Gather", {writer.Parameter("weight"), writer.Input(0)});
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Linear()));
LANISTA_REGISTER_OP(MakeModule(Identity()));
LANISTA_REGISTER_OP(MakeModule(Embedding()));

}  // namespace
}  // namespace lanista::ops
