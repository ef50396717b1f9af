// Activations and dropouts: the output is like the input.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;
using ToOnnx = std::function<absl::StatusOr<Names>(const OpCall&, OnnxWriter&)>;

ModuleSpec Elementwise(std::string type, std::vector<AttributeSpec> attributes, ToOnnx onnx = nullptr) {
  ModuleSpec spec{std::move(type), std::move(attributes), SameAsInput};
  spec.onnx = std::move(onnx);
  return spec;
}

ModuleSpec WithInplace(std::string type, std::vector<AttributeSpec> attributes, ToOnnx onnx = nullptr) {
  attributes.push_back(WithDefault("inplace", false));
  return Elementwise(std::move(type), std::move(attributes), std::move(onnx));
}

// An ONNX operator whose float attributes are ours under other names.
ToOnnx OnnxWithFloats(std::string op_type, std::vector<std::pair<std::string, std::string>> names) {
  return [op_type, names](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    std::vector<OnnxAttribute> attributes;
    for (const auto& [onnx, ours] : names) {
      attributes.push_back({onnx, static_cast<float>(call.attributes.Float(ours))});
    }
    return writer.Node(op_type, {writer.Input(0)}, attributes);
  };
}

std::string Scalar(OnnxWriter& writer, double value) {
  return writer.Constant(std::vector<float>{static_cast<float>(value)}, {});
}

ToOnnx OnnxClip(std::string low, std::string high, double default_low, double default_high) {
  return [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const double from = low.empty() ? default_low : call.attributes.Float(low);
    const double to = high.empty() ? default_high : call.attributes.Float(high);
    return writer.Node("Clip", {writer.Input(0), Scalar(writer, from), Scalar(writer, to)});
  };
}

absl::StatusOr<Names> HardsigmoidToOnnx(const OpCall&, OnnxWriter& writer) {
  return writer.Node("HardSigmoid", {writer.Input(0)}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
}

absl::StatusOr<Names> HardswishToOnnx(const OpCall& call, OnnxWriter& writer) {
  LANISTA_ASSIGN_OR_RETURN(const Names gate, HardsigmoidToOnnx(call, writer));
  return writer.Node("Mul", {writer.Input(0), gate[0]});
}

absl::StatusOr<Names> SiluToOnnx(const OpCall&, OnnxWriter& writer) {
  return writer.Node("Mul", {writer.Input(0), writer.Node("Sigmoid", {writer.Input(0)})[0]});
}

absl::StatusOr<Names> MishToOnnx(const OpCall&, OnnxWriter& writer) {
  const Names softplus = writer.Node("Softplus", {writer.Input(0)});
  return writer.Node("Mul", {writer.Input(0), writer.Node("Tanh", softplus)[0]});
}

absl::StatusOr<Names> GeluToOnnx(const OpCall& call, OnnxWriter& writer) {
  const std::string x = writer.Input(0);
  std::string inner;
  if (call.attributes.String("approximate") == "tanh") {
    // tanh(sqrt(2 / pi) * (x + 0.044715 x^3))
    const std::string square = writer.Node("Mul", {x, x})[0];
    const std::string cube = writer.Node("Mul", {square, x})[0];
    const std::string scaled = writer.Node("Mul", {cube, Scalar(writer, 0.044715)})[0];
    const std::string sum = writer.Node("Add", {x, scaled})[0];
    inner = writer.Node("Tanh", {writer.Node("Mul", {sum, Scalar(writer, 0.7978845608028654)})[0]})[0];
  } else {
    inner = writer.Node("Erf", {writer.Node("Div", {x, Scalar(writer, 1.4142135623730951)})[0]})[0];
  }
  const std::string gate = writer.Node("Add", {inner, Scalar(writer, 1)})[0];
  return writer.Node("Mul", {writer.Node("Mul", {x, gate})[0], Scalar(writer, 0.5)});
}

ToOnnx OnnxSoftmax(std::string op_type) {
  return [op_type](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node(op_type, {writer.Input(0)}, {{"axis", call.attributes.Int("dim")}});
  };
}

ModuleSpec Softmax(const std::string& type) {
  // `dim: none` picks a dimension by the rank, which PyTorch deprecates: it must be named here.
  ModuleSpec spec = Elementwise(type, {Required("dim", AttributeKind::kInt)}, OnnxSoftmax(type));
  // Exponential, sum and quotient.
  spec.flops = [](const OpCall&, const Types& outputs) -> std::optional<double> {
    const auto elements = CountElements(outputs[0]);
    return elements.has_value() ? std::make_optional(3 * *elements) : std::nullopt;
  };
  return spec;
}

ModuleSpec Dropout(const std::string& type) {
  ModuleSpec spec = WithInplace(type, {WithDefault("p", 0.5)}, OnnxUnary("Identity"));
  spec.check = [](const Attributes& a) -> absl::Status {
    if (a.Float("p") >= 0 && a.Float("p") <= 1) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("p must be in [0, 1], not ", a.Float("p")));
  };
  spec.stateful = true;
  return spec;
}

ModuleSpec StochasticDepth() {
  ModuleSpec spec =
      Elementwise("StochasticDepth", {Required("p", AttributeKind::kFloat), Required("mode", AttributeKind::kString)},
                  OnnxUnary("Identity"));
  spec.stateful = true;
  spec.cpp = [](const Attributes&) -> absl::StatusOr<std::string> {
    return absl::UnimplementedError("StochasticDepth is torchvision's: LibTorch's C++ front end has none");
  };
  return spec;
}

ModuleSpec Gelu() {
  ModuleSpec spec = Elementwise("GELU", {WithDefault("approximate", "none")}, GeluToOnnx);
  spec.cpp = [](const Attributes& a) -> absl::StatusOr<std::string> {
    return absl::StrCat("torch::nn::GELU(torch::nn::GELUOptions().approximate(\"", a.String("approximate"), "\"))");
  };
  return spec;
}

ModuleSpec PRelu() {
  ModuleSpec spec =
      Elementwise("PReLU", {WithDefault("num_parameters", int64_t{1}), WithDefault("init", 0.25)},
                  [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
                    if (call.attributes.Int("num_parameters") != 1) {
                      return absl::UnimplementedError("PReLU with a slope a channel is not written as ONNX");
                    }
                    return writer.Node("PRelu", {writer.Input(0), writer.Parameter("weight")});
                  });
  spec.parameters = [](const Attributes& a) {
    return std::vector<ParameterSpec>{{"weight", {a.Int("num_parameters")}}};
  };
  return spec;
}

// LibTorch's front end has functions, and no modules, for these.
ModuleSpec Functional(ModuleSpec spec, const std::string& function) {
  spec.cpp = [function](const Attributes&) -> absl::StatusOr<std::string> {
    return absl::StrCat("torch::nn::Functional(", function, ")");
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(WithInplace("ReLU", {}, OnnxUnary("Relu"))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("ReLU6", {}, OnnxClip("", "", 0, 6))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("LeakyReLU", {WithDefault("negative_slope", 0.01)},
                                           OnnxWithFloats("LeakyRelu", {{"alpha", "negative_slope"}}))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("ELU", {WithDefault("alpha", 1.0)},
                                           OnnxWithFloats("Elu", {{"alpha", "alpha"}}))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("CELU", {WithDefault("alpha", 1.0)},
                                           OnnxWithFloats("Celu", {{"alpha", "alpha"}}))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("SELU", {}, OnnxUnary("Selu"))));
LANISTA_REGISTER_OP(MakeModule(Gelu()));
LANISTA_REGISTER_OP(MakeModule(PRelu()));
LANISTA_REGISTER_OP(MakeModule(Functional(WithInplace("SiLU", {}, SiluToOnnx), "torch::silu")));
LANISTA_REGISTER_OP(MakeModule(Functional(WithInplace("Mish", {}, MishToOnnx), "torch::mish")));
LANISTA_REGISTER_OP(MakeModule(Functional(WithInplace("Hardswish", {}, HardswishToOnnx), "torch::hardswish")));
LANISTA_REGISTER_OP(MakeModule(Functional(WithInplace("Hardsigmoid", {}, HardsigmoidToOnnx), "torch::hardsigmoid")));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Sigmoid", {}, OnnxUnary("Sigmoid"))));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Tanh", {}, OnnxUnary("Tanh"))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("Hardtanh", {WithDefault("min_val", -1.0), WithDefault("max_val", 1.0)},
                                           OnnxClip("min_val", "max_val", 0, 0))));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Softplus", {WithDefault("beta", 1.0), WithDefault("threshold", 20.0)})));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Softsign", {}, OnnxUnary("Softsign"))));
LANISTA_REGISTER_OP(MakeModule(Elementwise("LogSigmoid", {})));
LANISTA_REGISTER_OP(MakeModule(Softmax("Softmax")));
LANISTA_REGISTER_OP(MakeModule(Softmax("LogSoftmax")));
LANISTA_REGISTER_OP(MakeModule(Dropout("Dropout")));
LANISTA_REGISTER_OP(MakeModule(Dropout("Dropout2d")));
LANISTA_REGISTER_OP(MakeModule(Dropout("Dropout3d")));
LANISTA_REGISTER_OP(MakeModule(Dropout("AlphaDropout")));
LANISTA_REGISTER_OP(MakeModule(StochasticDepth()));

}  // namespace
}  // namespace lanista::ops
