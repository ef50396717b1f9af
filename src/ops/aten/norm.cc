// Normalisation with statistics and weights as inputs.
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

absl::StatusOr<Types> InferLikeInput(const OpCall& call) {
  const v1::ValueType input = AtenArguments(call).Type("input");
  return input.kind() == v1::ValueType::TENSOR ? Types{input} : UnknownShape(call);
}

AtenSpec BatchNorm() {
  AtenSpec spec =
      Function("batch_norm", "input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled",
               [](const OpCall& call) -> absl::StatusOr<Types> {
                 const AtenArguments a(call);
                 const auto statistics = graph::DimsOf(a.Type("running_mean"));
                 if (statistics.has_value() && statistics->size() == 1 && (*statistics)[0] >= 0) {
                   LANISTA_RETURN_IF_ERROR(ExpectDim(a.Type("input"), 1, (*statistics)[0], "channels (running_mean)"));
                 }
                 return InferLikeInput(call);
               });
  spec.stateful = true;
  spec.flops = FlopsAnElement(4);
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    Names inputs = {writer.Input(0)};
    for (const char* const name : {"weight", "bias", "running_mean", "running_var"}) {
      if (a.Edge(name) < 0)
        return absl::UnimplementedError(absl::StrCat("without ", name, " it is not written as ONNX"));
      inputs.push_back(writer.Input(a.Edge(name)));
    }
    if (!a.Number("eps").has_value()) return OnnxNeeds("eps");
    return writer.Node("BatchNormalization", inputs, {{"epsilon", static_cast<float>(*a.Number("eps"))}});
  };
  return spec;
}

AtenSpec LayerNorm() {
  AtenSpec spec = Function(
      "layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const AtenArguments a(call);
        const auto shape = a.Ints("normalized_shape");
        for (size_t i = 0; shape.has_value() && i < shape->size(); ++i) {
          const int axis = static_cast<int>(i) - static_cast<int>(shape->size());
          LANISTA_RETURN_IF_ERROR(ExpectDim(a.Type("input"), axis, (*shape)[i], "features (normalized_shape)"));
        }
        return InferLikeInput(call);
      });
  spec.flops = FlopsAnElement(8);
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    const auto shape = a.Ints("normalized_shape");
    if (!shape.has_value() || !a.Number("eps").has_value()) return OnnxNeeds("normalized_shape");
    Dims axes;
    for (auto axis = -static_cast<int64_t>(shape->size()); axis < 0; ++axis) axes.push_back(axis);
    const auto mean = [&](const std::string& value) { return writer.Node("ReduceMean", {value}, {{"axes", axes}})[0]; };
    const std::string x = writer.Input(0);
    const std::string centred = writer.Node("Sub", {x, mean(x)})[0];
    const std::string variance = mean(writer.Node("Mul", {centred, centred})[0]);
    const std::string sum = writer.Node("Add", {variance, OnnxScalar(writer, *a.Number("eps"))})[0];
    std::string result = writer.Node("Div", {centred, writer.Node("Sqrt", {sum})[0]})[0];
    for (const auto& [name, type] : {std::make_pair("weight", "Mul"), std::make_pair("bias", "Add")}) {
      if (a.IsNone(name)) continue;
      if (a.Edge(name) < 0) return OnnxNeeds(name);
      result = writer.Node(type, {result, writer.Input(a.Edge(name))})[0];
    }
    return Names{result};
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(BatchNorm()));
LANISTA_REGISTER_OP(MakeAten(LayerNorm()));

}  // namespace
}  // namespace lanista::ops
