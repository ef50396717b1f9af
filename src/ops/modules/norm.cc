// Batch, layer, group, instance and local response normalisation.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

// Operations per element: a subtraction, a product, and the affine map's product and sum.
constexpr double kNormFlops = 4;

// Weight and bias, and the running statistics.
std::vector<ParameterSpec> ChannelParameters(int64_t channels, bool affine, bool running) {
  std::vector<ParameterSpec> parameters;
  if (affine) {
    parameters.push_back({"weight", {channels}});
    parameters.push_back({"bias", {channels}});
  }
  if (running) {
    parameters.push_back({"running_mean", {channels}, true});
    parameters.push_back({"running_var", {channels}, true});
    parameters.push_back({"num_batches_tracked", {}, true, v1::Tensor::INT64});
  }
  return parameters;
}

absl::StatusOr<Names> BatchNormToOnnx(const OpCall& call, OnnxWriter& writer) {
  const Attributes& a = call.attributes;
  if (!a.Bool("track_running_stats")) {
    return absl::UnimplementedError("batch normalisation by the batch's own statistics has no counterpart in ONNX");
  }
  const int64_t channels = a.Int("num_features");
  const std::vector<float> ones(channels, 1), zeros(channels, 0);
  const bool affine = a.Bool("affine");
  return writer.Node("BatchNormalization",
                     {writer.Input(0), affine ? writer.Parameter("weight") : writer.Constant(ones, {channels}),
                      affine ? writer.Parameter("bias") : writer.Constant(zeros, {channels}),
                      writer.Parameter("running_mean"), writer.Parameter("running_var")},
                     {{"epsilon", static_cast<float>(a.Float("eps"))}});
}

absl::StatusOr<Names> InstanceNormToOnnx(const OpCall& call, OnnxWriter& writer, int dims) {
  const Attributes& a = call.attributes;
  if (a.Bool("track_running_stats")) {
    return absl::UnimplementedError("instance normalisation with running statistics has no counterpart in ONNX");
  }
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], dims + 2));
  const int64_t channels = a.Int("num_features");
  const bool affine = a.Bool("affine");
  return writer.Node(
      "InstanceNormalization",
      {writer.Input(0),
       affine ? writer.Parameter("weight") : writer.Constant(std::vector<float>(channels, 1), {channels}),
       affine ? writer.Parameter("bias") : writer.Constant(std::vector<float>(channels, 0), {channels})},
      {{"epsilon", static_cast<float>(a.Float("eps"))}});
}

// The call of batch_norm or instance_norm. `momentum`: of the running statistics.
std::string ChannelNormExpression(const ScriptCall& call, const std::string& function, const std::string& momentum) {
  return absl::Substitute("torch.$0(input, $1, $2, $3, $4, $5, $6, $7, True)", function, call.Parameter("weight"),
                          call.Parameter("bias"), call.Parameter("running_mean"), call.Parameter("running_var"),
                          call.HasParameter("running_mean") ? call.Training() : "True", momentum, call.Float("eps"));
}

absl::StatusOr<std::string> BatchNormToScript(const ScriptCall& call) {
  const bool averages = !call.a.Has("momentum");
  std::string body, momentum = averages ? "0." : call.Float("momentum");
  if (call.HasParameter("running_mean") && !call.frozen) {
    body = "if self.training:\n    self.num_batches_tracked.add_(1)\n  ";
    if (averages) momentum = "1. / float(self.num_batches_tracked)";
  }
  return body + ScriptReturn(ChannelNormExpression(call, "batch_norm", momentum));
}

absl::StatusOr<std::string> InstanceNormToScript(const ScriptCall& call) {
  return ScriptReturn(
      ChannelNormExpression(call, "instance_norm", call.a.Has("momentum") ? call.Float("momentum") : "0."));
}

ModuleSpec ChannelNorm(const std::string& kind, int dims, bool on_by_default) {
  ModuleSpec spec;
  spec.type = absl::StrCat(kind, dims, "d");
  AttributeSpec momentum = WithDefault("momentum", 0.1);
  momentum.nullable = true;
  spec.attributes = {Required("num_features", AttributeKind::kInt), WithDefault("eps", 1e-5), momentum,
                     WithDefault("affine", on_by_default), WithDefault("track_running_stats", on_by_default)};
  // Batch norm takes [N, C, ...]; BatchNorm1d takes [N, C] too. Instance norm needs dimensions to average over.
  const bool batch = kind == "BatchNorm";
  spec.infer = [=](const OpCall& call) -> absl::StatusOr<Types> {
    LANISTA_RETURN_IF_ERROR(ExpectRank(
        call.inputs[0], dims == 1 || !batch ? std::vector<int>{dims + 1, dims + 2} : std::vector<int>{dims + 2}));
    const auto sizes = graph::DimsOf(call.inputs[0]);
    const int axis = sizes.has_value() && !batch ? static_cast<int>(sizes->size()) - dims - 1 : 1;
    LANISTA_RETURN_IF_ERROR(
        ExpectDim(call.inputs[0], axis, call.attributes.Int("num_features"), "channels (num_features)"));
    return SameAsInput(call);
  };
  spec.parameters = [](const Attributes& a) {
    return ChannelParameters(a.Int("num_features"), a.Bool("affine"), a.Bool("track_running_stats"));
  };
  spec.flops = FlopsAnElement(kNormFlops);
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) {
    return batch ? BatchNormToOnnx(call, writer) : InstanceNormToOnnx(call, writer, dims);
  };
  spec.torchscript =
      batch ? TorchScriptForm{"batchnorm", BatchNormToScript} : TorchScriptForm{"instancenorm", InstanceNormToScript};
  spec.stateful = true;
  spec.cpp = [specs = spec.attributes, type = spec.type](const Attributes& a) -> absl::StatusOr<std::string> {
    if (a.Has("momentum")) return CppOptions(type, specs, a);
    return absl::UnimplementedError("momentum: none cannot be written for LibTorch's C++ front end");
  };
  return spec;
}

absl::StatusOr<Types> InferLayerNorm(const OpCall& call) {
  const Dims shape = call.attributes.Ints("normalized_shape");
  for (size_t i = 0; i < shape.size(); ++i) {
    const int axis = static_cast<int>(i) - static_cast<int>(shape.size());
    LANISTA_RETURN_IF_ERROR(ExpectDim(call.inputs[0], axis, shape[i], "elements (normalized_shape)"));
  }
  return SameAsInput(call);
}

absl::StatusOr<Names> LayerNormToOnnx(const OpCall& call, OnnxWriter& writer) {
  // (x - mean) / sqrt(var + eps) * weight + bias, over the last dimensions.
  std::vector<int64_t> axes;
  const auto rank = static_cast<int64_t>(call.attributes.Ints("normalized_shape").size());
  for (int64_t axis = -rank; axis < 0; ++axis) axes.push_back(axis);
  const std::vector<OnnxAttribute> over = {{"axes", axes}};
  const std::string x = writer.Input(0);
  const std::string centred = writer.Node("Sub", {x, writer.Node("ReduceMean", {x}, over)[0]})[0];
  const std::string variance = writer.Node("ReduceMean", {writer.Node("Mul", {centred, centred})[0]}, over)[0];
  const std::string eps = writer.Constant(std::vector<float>{static_cast<float>(call.attributes.Float("eps"))}, {});
  const std::string deviation = writer.Node("Sqrt", {writer.Node("Add", {variance, eps})[0]})[0];
  const Names normal = writer.Node("Div", {centred, deviation});
  if (!call.attributes.Bool("elementwise_affine")) return normal;
  const std::string scaled = writer.Node("Mul", {normal[0], writer.Parameter("weight")})[0];
  return writer.Node("Add", {scaled, writer.Parameter("bias")});
}

ModuleSpec LayerNorm() {
  ModuleSpec spec{"LayerNorm",
                  {Required("normalized_shape", AttributeKind::kInts), WithDefault("eps", 1e-5),
                   WithDefault("elementwise_affine", true)},
                  InferLayerNorm};
  spec.check = [](const Attributes& a) { return ExpectAtLeast(a, {"normalized_shape"}, 0); };
  spec.parameters = [](const Attributes& a) {
    const Dims shape = a.Ints("normalized_shape");
    if (!a.Bool("elementwise_affine")) return std::vector<ParameterSpec>{};
    return std::vector<ParameterSpec>{{"weight", shape}, {"bias", shape}};
  };
  spec.flops = FlopsAnElement(kNormFlops);
  spec.cpp = [](const Attributes& a) -> absl::StatusOr<std::string> {
    // The shape must be a list: LayerNormOptions would take a number as a vector's capacity.
    return absl::StrCat("torch::nn::LayerNorm(torch::nn::LayerNormOptions({",
                        absl::StrJoin(a.Ints("normalized_shape"), ", "), "}).eps(", CppFloatLiteral(a.Float("eps")),
                        ").elementwise_affine(", a.Bool("elementwise_affine") ? "true" : "false", "))");
  };
  spec.onnx = LayerNormToOnnx;
  spec.torchscript = {
      "normalization", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
        return ScriptReturn(absl::Substitute("torch.layer_norm(input, $0, $1, $2, $3)", call.Ints("normalized_shape"),
                                             call.Parameter("weight"), call.Parameter("bias"), call.Float("eps")));
      }};
  return spec;
}

absl::StatusOr<Names> GroupNormToOnnx(const OpCall& call, OnnxWriter& writer) {
  // Each group becomes one channel of an instance normalisation; then the shape is restored.
  const Attributes& a = call.attributes;
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value())
    return absl::FailedPreconditionError("GroupNorm needs the input's rank for ONNX: give input_shape");
  const int64_t groups = a.Int("num_groups"), channels = a.Int("num_channels");
  const std::string x = writer.Input(0);
  const std::string grouped = writer.Node("Reshape", {x, writer.Constant(std::vector<int64_t>{0, groups, -1}, {3})})[0];
  const std::string normal = writer.Node("InstanceNormalization",
                                         {grouped, writer.Constant(std::vector<float>(groups, 1), {groups}),
                                          writer.Constant(std::vector<float>(groups, 0), {groups})},
                                         {{"epsilon", static_cast<float>(a.Float("eps"))}})[0];
  const Names shaped = writer.Node("Reshape", {normal, writer.Node("Shape", {x})[0]});
  if (!a.Bool("affine")) return shaped;
  std::vector<int64_t> channel_shape(dims->size() - 1, 1);
  channel_shape[0] = channels;
  const std::string shape = writer.Constant(channel_shape, {static_cast<int64_t>(channel_shape.size())});
  const std::string weight = writer.Node("Reshape", {writer.Parameter("weight"), shape})[0];
  const std::string bias = writer.Node("Reshape", {writer.Parameter("bias"), shape})[0];
  return writer.Node("Add", {writer.Node("Mul", {shaped[0], weight})[0], bias});
}

ModuleSpec GroupNorm() {
  ModuleSpec spec{"GroupNorm",
                  {Required("num_groups", AttributeKind::kInt), Required("num_channels", AttributeKind::kInt),
                   WithDefault("eps", 1e-5), WithDefault("affine", true)}};
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    LANISTA_RETURN_IF_ERROR(
        ExpectDim(call.inputs[0], 1, call.attributes.Int("num_channels"), "channels (num_channels)"));
    return SameAsInput(call);
  };
  spec.parameters = [](const Attributes& a) {
    return ChannelParameters(a.Int("num_channels"), a.Bool("affine"), false);
  };
  spec.check = [](const Attributes& a) -> absl::Status {
    if (a.Int("num_groups") > 0 && a.Int("num_channels") % a.Int("num_groups") == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("num_channels (", a.Int("num_channels"),
                                                   ") must be divisible by num_groups (", a.Int("num_groups"), ")"));
  };
  spec.flops = FlopsAnElement(kNormFlops);
  spec.onnx = GroupNormToOnnx;
  spec.torchscript = {
      "normalization", [](const ScriptCall& call) -> absl::StatusOr<std::string> {
        return ScriptReturn(absl::Substitute("torch.group_norm(input, $0, $1, $2, $3)", call.Int("num_groups"),
                                             call.Parameter("weight"), call.Parameter("bias"), call.Float("eps")));
      }};
  return spec;
}

absl::StatusOr<std::string> LocalResponseNormToScript(const ScriptCall& call) {
  const int64_t size = call.a.Int("size");
  return absl::Substitute(
      "sizes = input.size()\n"
      "  div = torch.mul(input, input)\n"
      "  div = torch.reshape(div, [sizes[0], 1, sizes[1], -1])\n"
      "  div = torch.constant_pad_nd(div, [0, 0, $0, $1], 0)\n"
      "  div = torch.avg_pool2d(div, [$2, 1], [1, 1])\n"
      "  div = torch.reshape(div, sizes)\n"
      "  return torch.div(input, torch.pow(torch.add(torch.mul(div, $3), $4), $5))",
      size / 2, (size - 1) / 2, size, call.Float("alpha"), call.Float("k"), call.Float("beta"));
}

// x / (k + alpha * mean of the squares of `size` neighbouring channels)^beta
ModuleSpec LocalResponseNorm() {
  ModuleSpec spec{"LocalResponseNorm",
                  {Required("size", AttributeKind::kInt), WithDefault("alpha", 1e-4), WithDefault("beta", 0.75),
                   WithDefault("k", 1.0)}};
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(call.inputs[0]);
    if (!dims.has_value() || dims->size() >= 3) return SameAsInput(call);
    return absl::InvalidArgumentError(
        absl::StrCat("expects 3 or more dimensions, gets ", graph::TypeToText(call.inputs[0])));
  };
  spec.check = [](const Attributes& a) -> absl::Status {
    return a.Int("size") > 0 ? absl::OkStatus() : absl::InvalidArgumentError("size must be at least 1");
  };
  // The sum of `size` squares, a factor, a sum, a power and a quotient.
  spec.flops = [](const OpCall& call, const Types& outputs) {
    return FlopsAnElement(2.0 * static_cast<double>(call.attributes.Int("size")) + 4)(call, outputs);
  };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const Attributes& a = call.attributes;
    // The windows of even size differ: PyTorch has one more channel below, ONNX one more above.
    if (a.Int("size") % 2 == 0) return absl::UnimplementedError("an even size has no counterpart in ONNX");
    return writer.Node("LRN", {writer.Input(0)},
                       {{"size", a.Int("size")},
                        {"alpha", static_cast<float>(a.Float("alpha"))},
                        {"beta", static_cast<float>(a.Float("beta"))},
                        {"bias", static_cast<float>(a.Float("k"))}});
  };
  spec.torchscript = {"normalization", LocalResponseNormToScript};
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(ChannelNorm("BatchNorm", 1, true)));
LANISTA_REGISTER_OP(MakeModule(ChannelNorm("BatchNorm", 2, true)));
LANISTA_REGISTER_OP(MakeModule(ChannelNorm("BatchNorm", 3, true)));
LANISTA_REGISTER_OP(MakeModule(ChannelNorm("InstanceNorm", 1, false)));
LANISTA_REGISTER_OP(MakeModule(ChannelNorm("InstanceNorm", 2, false)));
LANISTA_REGISTER_OP(MakeModule(ChannelNorm("InstanceNorm", 3, false)));
LANISTA_REGISTER_OP(MakeModule(LayerNorm()));
LANISTA_REGISTER_OP(MakeModule(GroupNorm()));
LANISTA_REGISTER_OP(MakeModule(LocalResponseNorm()));

}  // namespace
}  // namespace lanista::ops
