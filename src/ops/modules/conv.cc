// Convolutions and transposed convolutions over 1 to 3 dimensions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

// The attributes of both kinds, up to `padding`; the attributes after it differ.
std::vector<AttributeSpec> ConvAttributes(int dims, bool transposed) {
  std::vector<AttributeSpec> specs = {
      Required("in_channels", AttributeKind::kInt), Required("out_channels", AttributeKind::kInt),
      Required("kernel_size", AttributeKind::kInts, dims), IntsWithDefault("stride", dims, 1)};
  AttributeSpec padding = IntsWithDefault("padding", dims, 0);
  // "same" and "valid" are allowed too.
  if (!transposed) padding.kind = AttributeKind::kAny;
  specs.push_back(padding);
  if (transposed) specs.push_back(IntsWithDefault("output_padding", dims, 0));
  if (!transposed) specs.push_back(IntsWithDefault("dilation", dims, 1));
  specs.push_back(WithDefault("groups", int64_t{1}));
  specs.push_back(WithDefault("bias", true));
  if (transposed) specs.push_back(IntsWithDefault("dilation", dims, 1));
  specs.push_back(WithDefault("padding_mode", "zeros"));
  return specs;
}

absl::Status CheckPadding(const Attributes& a, int dims) {
  const v1::Value& padding = a.Get("padding");
  if (padding.has_s() && (padding.s() == "same" || padding.s() == "valid")) {
    const Dims stride = a.Ints("stride");
    const bool moves = std::any_of(stride.begin(), stride.end(), [](int64_t step) { return step != 1; });
    if (padding.s() != "same" || !moves) return absl::OkStatus();
    return absl::InvalidArgumentError("padding \"same\" needs a stride of 1");
  }
  const Dims sizes = a.Ints("padding");
  const bool fits = padding.has_i() || (padding.has_list() && static_cast<int>(sizes.size()) == dims);
  if (fits && std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size >= 0; })) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("padding must be an integer from 0, a list of ", dims, " of them, \"same\" or \"valid\""));
}

absl::Status CheckConv(const Attributes& a, int dims, bool transposed) {
  const int64_t in = a.Int("in_channels"), out = a.Int("out_channels"), groups = a.Int("groups");
  if (in < 1 || out < 1 || groups < 1) {
    return absl::InvalidArgumentError("in_channels, out_channels and groups must be at least 1");
  }
  if (in % groups != 0 || out % groups != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("in_channels (", in, ") and out_channels (", out, ") must be divisible by groups (", groups, ")"));
  }
  for (const char* name : {"kernel_size", "stride", "dilation"}) {
    for (const int64_t size : a.Ints(name)) {
      if (size < 1) return absl::InvalidArgumentError(absl::StrCat(name, " must be at least 1"));
    }
  }
  LANISTA_RETURN_IF_ERROR(CheckPadding(a, dims));
  const std::string mode = a.String("padding_mode");
  if (transposed) {
    if (mode != "zeros") return absl::InvalidArgumentError("padding_mode must be zeros");
    const Dims extra = a.Ints("output_padding"), stride = a.Ints("stride"), dilation = a.Ints("dilation");
    for (int i = 0; i < dims; ++i) {
      if (extra[i] >= 0 && extra[i] < std::max(stride[i], dilation[i])) continue;
      return absl::InvalidArgumentError(absl::StrCat("output_padding (", extra[i], ") must be below stride (",
                                                     stride[i], ") or dilation (", dilation[i], ")"));
    }
  } else if (mode != "zeros" && mode != "reflect" && mode != "replicate" && mode != "circular") {
    return absl::InvalidArgumentError("padding_mode must be zeros, reflect, replicate or circular");
  }
  return absl::OkStatus();
}

std::vector<ParameterSpec> ConvParameters(const Attributes& a, bool transposed) {
  const int64_t in = a.Int("in_channels"), out = a.Int("out_channels"), groups = a.Int("groups");
  Dims weight = transposed ? Dims{in, out / groups} : Dims{out, in / groups};
  for (const int64_t size : a.Ints("kernel_size")) weight.push_back(size);
  std::vector<ParameterSpec> parameters(1);
  parameters[0].name = "weight";
  parameters[0].shape = weight;
  if (a.Bool("bias")) {
    ParameterSpec& bias = parameters.emplace_back();
    bias.name = "bias";
    bias.shape = {out};
  }
  return parameters;
}

// The padding on both sides of each dimension, in its symmetric form; 0 for "same" and "valid".
Dims PaddingOf(const Attributes& a, int dims) {
  if (a.Get("padding").has_s()) return Dims(dims, 0);
  Dims sizes = a.Ints("padding");
  if (sizes.size() == 1) sizes.resize(dims, sizes[0]);
  return sizes;
}

// Paddings before each dimension, then after each.
Dims BothPaddings(const Attributes& a, int dims) {
  Dims before = PaddingOf(a, dims), after = before;
  if (a.Get("padding").s() == "same") {
    const Dims kernel = a.Ints("kernel_size"), dilation = a.Ints("dilation");
    for (int i = 0; i < dims; ++i) {
      const int64_t total = dilation[i] * (kernel[i] - 1);
      before[i] = total / 2;
      after[i] = total - before[i];  // An odd total has one more at the end.
    }
  }
  before.insert(before.end(), after.begin(), after.end());
  return before;
}

absl::StatusOr<Types> InferConv(const OpCall& call, int dims, bool transposed) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {dims + 1, dims + 2}));
  LANISTA_RETURN_IF_ERROR(ExpectDim(input, -dims - 1, a.Int("in_channels"), "input channels (in_channels)"));
  auto sizes = graph::DimsOf(input);
  if (!sizes.has_value()) return Types{graph::TensorType(input.data_type())};
  const Dims kernel = a.Ints("kernel_size"), stride = a.Ints("stride"), dilation = a.Ints("dilation");
  const Dims padding = PaddingOf(a, dims);
  const size_t first = sizes->size() - dims;
  (*sizes)[first - 1] = a.Int("out_channels");
  for (int i = 0; i < dims; ++i) {
    int64_t& size = (*sizes)[first + i];
    if (size < 0) continue;
    const int64_t input_size = size;
    if (transposed) {
      size = (size - 1) * stride[i] - 2 * padding[i] + dilation[i] * (kernel[i] - 1) + a.Ints("output_padding")[i] + 1;
    } else if (a.Get("padding").s() != "same") {
      size = SlidingSize(size, kernel[i], stride[i], padding[i], dilation[i]);
    }
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a kernel of ", kernel[i], " does not fit into ", input_size, " in ", graph::TypeToText(input)));
    }
  }
  return Types{graph::TensorType(input.data_type(), *sizes)};
}

std::optional<double> ConvFlops(const OpCall& call, const Types& outputs, bool transposed) {
  const Attributes& a = call.attributes;
  // Each element of the output (transposed: of the input) meets the kernel once.
  const auto elements = CountElements(transposed ? call.inputs[0] : outputs[0]);
  if (!elements.has_value()) return std::nullopt;
  double kernel =
      static_cast<double>(a.Int(transposed ? "out_channels" : "in_channels")) / static_cast<double>(a.Int("groups"));
  for (const int64_t size : a.Ints("kernel_size")) kernel *= static_cast<double>(size);
  const double bias = a.Bool("bias") ? CountElements(outputs[0]).value_or(0) : 0;
  return 2 * kernel * *elements + bias;
}

absl::StatusOr<std::string> CppConv(const std::string& type, const std::vector<AttributeSpec>& specs,
                                    const Attributes& a) {
  std::vector<AttributeSpec> plain;
  std::string rest;
  for (AttributeSpec spec : specs) {
    if (spec.name == "padding") {
      spec.kind = AttributeKind::kInts;
      if (a.Get("padding").has_s()) {
        rest += a.Get("padding").s() == "same" ? ".padding(torch::kSame)" : ".padding(torch::kValid)";
        continue;
      }
    }
    if (spec.name == "padding_mode") {
      const std::string mode = a.String("padding_mode");
      if (mode == "reflect") rest += ".padding_mode(torch::kReflect)";
      if (mode == "replicate") rest += ".padding_mode(torch::kReplicate)";
      if (mode == "circular") rest += ".padding_mode(torch::kCircular)";
      continue;
    }
    plain.push_back(spec);
  }
  LANISTA_ASSIGN_OR_RETURN(std::string source, CppOptions(type, plain, a));
  return source.insert(source.size() - 1, rest);
}

absl::StatusOr<std::vector<std::string>> ConvToOnnx(const OpCall& call, OnnxWriter& writer, int dims, bool transposed) {
  const Attributes& a = call.attributes;
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], dims + 2));
  std::string input = writer.Input(0);
  Dims pads = BothPaddings(a, dims);
  const std::string mode = a.String("padding_mode");
  if (mode == "circular") return absl::UnimplementedError("padding_mode circular has no counterpart in ONNX");
  if (mode != "zeros") {
    // A node of its own; batch and channels are not padded.
    Dims all(2 * (dims + 2), 0);
    std::copy(pads.begin(), pads.begin() + dims, all.begin() + 2);
    std::copy(pads.begin() + dims, pads.end(), all.begin() + dims + 4);
    const std::string amounts = writer.Constant(all, {static_cast<int64_t>(all.size())});
    input = writer.Node("Pad", {input, amounts}, {{"mode", std::string(mode == "reflect" ? "reflect" : "edge")}})[0];
    pads.assign(pads.size(), 0);
  }
  std::vector<OnnxAttribute> attributes = {{"kernel_shape", a.Ints("kernel_size")},
                                           {"strides", a.Ints("stride")},
                                           {"dilations", a.Ints("dilation")},
                                           {"group", a.Int("groups")},
                                           {"pads", pads}};
  if (transposed) attributes.push_back({"output_padding", a.Ints("output_padding")});
  std::vector<std::string> inputs = {input, writer.Parameter("weight")};
  if (a.Bool("bias")) inputs.push_back(writer.Parameter("bias"));
  return writer.Node(transposed ? "ConvTranspose" : "Conv", inputs, attributes);
}

absl::StatusOr<std::string> TransposedConvToScript(const ScriptCall& call, int dims) {
  return ScriptReturn(absl::Substitute("torch.conv_transpose$0d(input, self.weight, $1, $2, $3, $4, $5, $6)", dims,
                                       call.Parameter("bias"), call.Ints("stride"), call.Ints("padding"),
                                       call.Ints("output_padding"), call.Int("groups"), call.Ints("dilation")));
}

absl::StatusOr<std::string> ConvToScript(const ScriptCall& call, int dims) {
  const v1::Value& given = call.a.Get("padding");
  std::string input = "input";
  std::string padding = given.has_s() ? StringLiteral(given.s()) : ScriptInts(PaddingOf(call.a, dims));
  if (const std::string mode = call.a.String("padding_mode"); mode != "zeros") {
    // Like torch.nn: pads first; the list starts with the last dimension.
    const Dims both = BothPaddings(call.a, dims);
    Dims pads;
    for (int i = dims - 1; i >= 0; --i) pads.insert(pads.end(), {both[i], both[i + dims]});
    input = absl::StrCat("torch.pad(input, ", ScriptInts(pads), ", '", mode, "', None)");
    padding = ScriptInts(Dims(dims, 0));
  }
  return ScriptReturn(absl::Substitute("torch.conv$0d($1, self.weight, $2, $3, $4, $5, $6)", dims, input,
                                       call.Parameter("bias"), call.Ints("stride"), padding, call.Ints("dilation"),
                                       call.Int("groups")));
}

std::unique_ptr<graph::OpSchema> MakeConv(int dims, bool transposed) {
  ModuleSpec spec;
  spec.type = absl::StrCat("Conv", transposed ? "Transpose" : "", dims, "d");
  spec.attributes = ConvAttributes(dims, transposed);
  spec.infer = [=](const OpCall& call) { return InferConv(call, dims, transposed); };
  spec.parameters = [=](const Attributes& a) { return ConvParameters(a, transposed); };
  spec.flops = [=](const OpCall& call, const Types& outputs) { return ConvFlops(call, outputs, transposed); };
  spec.check = [=](const Attributes& a) { return CheckConv(a, dims, transposed); };
  spec.cpp = [type = spec.type, specs = spec.attributes](const Attributes& a) { return CppConv(type, specs, a); };
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) { return ConvToOnnx(call, writer, dims, transposed); };
  spec.torchscript = {"conv", [=](const ScriptCall& call) {
                        return transposed ? TransposedConvToScript(call, dims) : ConvToScript(call, dims);
                      }};
  return MakeModule(std::move(spec));
}

LANISTA_REGISTER_OP(MakeConv(1, false));
LANISTA_REGISTER_OP(MakeConv(2, false));
LANISTA_REGISTER_OP(MakeConv(3, false));
LANISTA_REGISTER_OP(MakeConv(1, true));
LANISTA_REGISTER_OP(MakeConv(2, true));
LANISTA_REGISTER_OP(MakeConv(3, true));

}  // namespace
}  // namespace lanista::ops
