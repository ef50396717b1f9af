// Activations: the output is like the input, except for GLU.
#include "absl/strings/str_cat.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;
using ToOnnx = std::function<absl::StatusOr<Names>(const OpCall&, OnnxWriter&)>;

ModuleSpec Elementwise(std::string type, std::vector<AttributeSpec> attributes, ScriptFunction script,
                       ToOnnx onnx = nullptr) {
  ModuleSpec spec{std::move(type), std::move(attributes), SameAsInput};
  spec.torchscript = {"activation", std::move(script)};
  spec.onnx = std::move(onnx);
  return spec;
}

ModuleSpec WithInplace(std::string type, std::vector<AttributeSpec> attributes, ScriptFunction script, ToOnnx onnx) {
  attributes.push_back(WithDefault("inplace", false));
  return Elementwise(std::move(type), std::move(attributes), std::move(script), std::move(onnx));
}

// An ONNX operator with the same float attributes under other names.
ToOnnx OnnxWithFloats(std::string op_type, std::vector<std::pair<std::string, std::string>> names) {
  return [op_type, names](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    std::vector<OnnxAttribute> attributes;
    for (const auto& [onnx, ours] : names) {
      attributes.push_back({onnx, static_cast<float>(call.attributes.Float(ours))});
    }
    return writer.Node(op_type, {writer.Input(0)}, attributes);
  };
}

ToOnnx OnnxClip(std::string low, std::string high, double default_low, double default_high) {
  return [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const double from = low.empty() ? default_low : call.attributes.Float(low);
    const double to = high.empty() ? default_high : call.attributes.Float(high);
    return writer.Node("Clip", {writer.Input(0), OnnxScalar(writer, from), OnnxScalar(writer, to)});
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
    const std::string scaled = writer.Node("Mul", {cube, OnnxScalar(writer, 0.044715)})[0];
    const std::string sum = writer.Node("Add", {x, scaled})[0];
    inner = writer.Node("Tanh", {writer.Node("Mul", {sum, OnnxScalar(writer, 0.7978845608028654)})[0]})[0];
  } else {
    inner = writer.Node("Erf", {writer.Node("Div", {x, OnnxScalar(writer, 1.4142135623730951)})[0]})[0];
  }
  const std::string gate = writer.Node("Add", {inner, OnnxScalar(writer, 1)})[0];
  return writer.Node("Mul", {writer.Node("Mul", {x, gate})[0], OnnxScalar(writer, 0.5)});
}

// log(1 + exp(beta x)) / beta, and x itself where beta x is above the threshold.
absl::StatusOr<Names> SoftplusToOnnx(const OpCall& call, OnnxWriter& writer) {
  const double beta = call.attributes.Float("beta"), threshold = call.attributes.Float("threshold");
  const std::string x = writer.Input(0);
  const std::string scaled = beta == 1 ? x : writer.Node("Mul", {x, OnnxScalar(writer, beta)})[0];
  Names soft = writer.Node("Softplus", {scaled});
  if (beta != 1) soft = writer.Node("Div", {soft[0], OnnxScalar(writer, beta)});
  // With such a threshold, both formulas give the same in single precision.
  if (threshold >= 20) return soft;
  const Names above = writer.Node("Greater", {scaled, OnnxScalar(writer, threshold)});
  return writer.Node("Where", {above[0], x, soft[0]});
}

absl::StatusOr<Names> LogSigmoidToOnnx(const OpCall&, OnnxWriter& writer) {
  return writer.Node("Neg", writer.Node("Softplus", writer.Node("Neg", {writer.Input(0)})));
}

absl::StatusOr<Names> TanhshrinkToOnnx(const OpCall&, OnnxWriter& writer) {
  return writer.Node("Sub", {writer.Input(0), writer.Node("Tanh", {writer.Input(0)})[0]});
}

// `soft`: the remaining elements move towards zero as well.
ToOnnx OnnxShrink(bool soft) {
  return [soft](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const auto lambd = static_cast<float>(call.attributes.Float("lambd"));
    return writer.Node("Shrink", {writer.Input(0)}, {{"lambd", lambd}, {"bias", soft ? lambd : 0.0F}});
  };
}

absl::StatusOr<Names> ThresholdToOnnx(const OpCall& call, OnnxWriter& writer) {
  const std::string x = writer.Input(0);
  const Names above = writer.Node("Greater", {x, OnnxScalar(writer, call.attributes.Float("threshold"))});
  return writer.Node("Where", {above[0], x, OnnxScalar(writer, call.attributes.Float("value"))});
}

absl::StatusOr<Names> RReluToOnnx(const OpCall& call, OnnxWriter& writer) {
  const double slope = (call.attributes.Float("lower") + call.attributes.Float("upper")) / 2;
  return writer.Node("LeakyRelu", {writer.Input(0)}, {{"alpha", static_cast<float>(slope)}});
}

// `script`: the expression, with the dimension as $1.
ModuleSpec Softmax(const std::string& type, const std::string& script) {
  // `dim: none` would pick a dimension by the rank; PyTorch deprecates that, so `dim` is required here.
  ModuleSpec spec = Elementwise(type, {Required("dim", AttributeKind::kInt)}, ScriptExpression(script, {"dim"}));
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(call.inputs[0]);
    const int64_t dim = call.attributes.Int("dim");
    const auto rank = dims.has_value() ? static_cast<int64_t>(dims->size()) : 0;
    if (dims.has_value() && rank > 0 && (dim < -rank || dim >= rank)) {
      return absl::InvalidArgumentError(
          absl::StrCat("there is no dimension ", dim, " (dim) in ", graph::TypeToText(call.inputs[0])));
    }
    return SameAsInput(call);
  };
  // The exponential, the sum and the quotient.
  spec.flops = FlopsAnElement(3);
  spec.onnx = [type](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const bool negated = type == "Softmin";
    const std::string x = negated ? writer.Node("Neg", {writer.Input(0)})[0] : writer.Input(0);
    return writer.Node(negated ? "Softmax" : type, {x}, {{"axis", call.attributes.Int("dim")}});
  };
  return spec;
}

// Over the channels of an image.
ModuleSpec Softmax2d() {
  ModuleSpec spec = Elementwise("Softmax2d", {}, ScriptExpression("torch.softmax(input, -3)"));
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    LANISTA_RETURN_IF_ERROR(ExpectRank(call.inputs[0], {3, 4}));
    return SameAsInput(call);
  };
  spec.flops = FlopsAnElement(3);
  spec.onnx = [](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node("Softmax", {writer.Input(0)}, {{"axis", int64_t{-3}}});
  };
  return spec;
}

// One half of the input times the sigmoid of the other half.
ModuleSpec Glu() {
  ModuleSpec spec =
      Elementwise("GLU", {WithDefault("dim", int64_t{-1})}, ScriptExpression("torch.glu(input, $1)", {"dim"}));
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    const v1::ValueType& input = call.inputs[0];
    auto dims = graph::DimsOf(input);
    if (!dims.has_value()) return Types{graph::TensorType(input.data_type())};
    const auto rank = static_cast<int64_t>(dims->size());
    int64_t dim = call.attributes.Int("dim");
    if (dim < 0) dim += rank;
    if (dim < 0 || dim >= rank || ((*dims)[dim] > 0 && (*dims)[dim] % 2 != 0)) {
      return absl::InvalidArgumentError(absl::StrCat("expects an even size in dimension ", call.attributes.Int("dim"),
                                                     " (dim), gets ", graph::TypeToText(input)));
    }
    if ((*dims)[dim] > 0) (*dims)[dim] /= 2;
    return Types{graph::TensorType(input.data_type(), *dims)};
  };
  spec.flops = FlopsAnElement(2);
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const Names halves = writer.Node("Split", {writer.Input(0)}, {{"axis", call.attributes.Int("dim")}}, 2);
    return writer.Node("Mul", {halves[0], writer.Node("Sigmoid", {halves[1]})[0]});
  };
  return spec;
}

ModuleSpec Gelu() {
  ModuleSpec spec = Elementwise("GELU", {WithDefault("approximate", "none")},
                                ScriptExpression("torch.gelu(input, approximate=$1)", {"approximate"}), GeluToOnnx);
  spec.check = [](const Attributes& a) -> absl::Status {
    const std::string approximate = a.String("approximate");
    if (approximate == "none" || approximate == "tanh") return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("approximate must be none or tanh, not '", approximate, "'"));
  };
  spec.cpp = [](const Attributes& a) -> absl::StatusOr<std::string> {
    return absl::StrCat("torch::nn::GELU(torch::nn::GELUOptions().approximate(\"", a.String("approximate"), "\"))");
  };
  return spec;
}

absl::StatusOr<Names> PReluToOnnx(const OpCall& call, OnnxWriter& writer) {
  const int64_t slopes = call.attributes.Int("num_parameters");
  if (slopes == 1) return writer.Node("PRelu", {writer.Input(0), writer.Parameter("weight")});
  // ONNX broadcasts the slopes to the input, aligned at the last dimension.
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value()) {
    return absl::FailedPreconditionError("PReLU needs the input's rank for ONNX: give input_shape");
  }
  Dims shape(dims->size() - 1, 1);
  shape[0] = slopes;
  const std::string target = writer.Constant(shape, {static_cast<int64_t>(shape.size())});
  return writer.Node("PRelu", {writer.Input(0), writer.Node("Reshape", {writer.Parameter("weight"), target})[0]});
}

ModuleSpec PRelu() {
  ModuleSpec spec = Elementwise("PReLU", {WithDefault("num_parameters", int64_t{1}), WithDefault("init", 0.25)},
                                ScriptExpression("torch.prelu(input, self.weight)"), PReluToOnnx);
  spec.parameters = [](const Attributes& a) {
    return std::vector<ParameterSpec>{{"weight", {a.Int("num_parameters")}}};
  };
  spec.infer = [](const OpCall& call) -> absl::StatusOr<Types> {
    const int64_t slopes = call.attributes.Int("num_parameters");
    if (slopes != 1) LANISTA_RETURN_IF_ERROR(ExpectDim(call.inputs[0], 1, slopes, "channels (num_parameters)"));
    return SameAsInput(call);
  };
  return spec;
}

// LibTorch's options use the name "lambda", which is a keyword in Python.
ModuleSpec Shrink(const std::string& type, bool soft) {
  const char* const script = soft ? "torch.softshrink(input, $1)" : "torch.hardshrink(input, $1)";
  ModuleSpec spec =
      Elementwise(type, {WithDefault("lambd", 0.5)}, ScriptExpression(script, {"lambd"}), OnnxShrink(soft));
  spec.cpp = [type](const Attributes& a) -> absl::StatusOr<std::string> {
    return absl::StrCat("torch::nn::", type, "(torch::nn::", type, "Options(", CppFloatLiteral(a.Float("lambd")), "))");
  };
  return spec;
}

ModuleSpec RRelu() {
  const auto script = [](const ScriptCall& call) -> absl::StatusOr<std::string> {
    return ScriptReturn(absl::StrCat("torch.rrelu(input, ", call.Float("lower"), ", ", call.Float("upper"), ", ",
                                     call.Training(), ")"));
  };
  ModuleSpec spec =
      WithInplace("RReLU", {WithDefault("lower", 1.0 / 8), WithDefault("upper", 1.0 / 3)}, script, RReluToOnnx);
  spec.stateful = true;
  spec.check = [](const Attributes& a) -> absl::Status {
    if (a.Float("lower") <= a.Float("upper")) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("lower (", a.Float("lower"), ") must not be above upper (", a.Float("upper"), ")"));
  };
  return spec;
}

// For these, LibTorch's front end has functions, but no modules that work in place.
ModuleSpec Functional(const std::string& type, const std::string& function, ToOnnx onnx) {
  ModuleSpec spec =
      WithInplace(type, {}, ScriptExpression(absl::StrCat("torch.", function, "$0(input)")), std::move(onnx));
  spec.cpp = [function](const Attributes& a) -> absl::StatusOr<std::string> {
    if (!a.Bool("inplace")) return absl::StrCat("torch::nn::Functional(torch::", function, ")");
    return absl::StrCat("torch::nn::Functional([](torch::Tensor x) { return torch::", function, "_(x); })");
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(WithInplace("ReLU", {}, ScriptExpression("torch.relu$0(input)"), OnnxUnary("Relu"))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("ReLU6", {}, ScriptExpression("torch.hardtanh$0(input, 0., 6.)"),
                                           OnnxClip("", "", 0, 6))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("LeakyReLU", {WithDefault("negative_slope", 0.01)},
                                           ScriptExpression("torch.leaky_relu$0(input, $1)", {"negative_slope"}),
                                           OnnxWithFloats("LeakyRelu", {{"alpha", "negative_slope"}}))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("ELU", {WithDefault("alpha", 1.0)},
                                           ScriptExpression("torch.elu$0(input, $1)", {"alpha"}),
                                           OnnxWithFloats("Elu", {{"alpha", "alpha"}}))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("CELU", {WithDefault("alpha", 1.0)},
                                           ScriptExpression("torch.celu$0(input, $1)", {"alpha"}),
                                           OnnxWithFloats("Celu", {{"alpha", "alpha"}}))));
LANISTA_REGISTER_OP(MakeModule(WithInplace("SELU", {}, ScriptExpression("torch.selu$0(input)"), OnnxUnary("Selu"))));
LANISTA_REGISTER_OP(MakeModule(Gelu()));
LANISTA_REGISTER_OP(MakeModule(Glu()));
LANISTA_REGISTER_OP(MakeModule(PRelu()));
LANISTA_REGISTER_OP(MakeModule(RRelu()));
LANISTA_REGISTER_OP(MakeModule(Functional("SiLU", "silu", SiluToOnnx)));
LANISTA_REGISTER_OP(MakeModule(Functional("Mish", "mish", MishToOnnx)));
LANISTA_REGISTER_OP(MakeModule(Functional("Hardswish", "hardswish", HardswishToOnnx)));
LANISTA_REGISTER_OP(MakeModule(Functional("Hardsigmoid", "hardsigmoid", HardsigmoidToOnnx)));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Sigmoid", {}, ScriptExpression("torch.sigmoid(input)"),
                                           OnnxUnary("Sigmoid"))));
LANISTA_REGISTER_OP(MakeModule(Elementwise("LogSigmoid", {}, ScriptExpression("torch.log_sigmoid(input)"),
                                           LogSigmoidToOnnx)));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Tanh", {}, ScriptExpression("torch.tanh(input)"), OnnxUnary("Tanh"))));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Tanhshrink", {}, ScriptExpression("torch.sub(input, torch.tanh(input))"),
                                           TanhshrinkToOnnx)));
LANISTA_REGISTER_OP(MakeModule(WithInplace("Hardtanh", {WithDefault("min_val", -1.0), WithDefault("max_val", 1.0)},
                                           ScriptExpression("torch.hardtanh$0(input, $1, $2)", {"min_val", "max_val"}),
                                           OnnxClip("min_val", "max_val", 0, 0))));
LANISTA_REGISTER_OP(MakeModule(Shrink("Hardshrink", false)));
LANISTA_REGISTER_OP(MakeModule(Shrink("Softshrink", true)));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Softplus", {WithDefault("beta", 1.0), WithDefault("threshold", 20.0)},
                                           ScriptExpression("torch.softplus(input, $1, $2)", {"beta", "threshold"}),
                                           SoftplusToOnnx)));
LANISTA_REGISTER_OP(MakeModule(Elementwise("Softsign", {},
                                           ScriptExpression("torch.div(input, torch.add(torch.abs(input), 1))"),
                                           OnnxUnary("Softsign"))));
LANISTA_REGISTER_OP(MakeModule(Softmax("Softmax", "torch.softmax(input, $1)")));
LANISTA_REGISTER_OP(MakeModule(Softmax("Softmin", "torch.softmax(torch.neg(input), $1)")));
LANISTA_REGISTER_OP(MakeModule(Softmax("LogSoftmax", "torch.log_softmax(input, $1)")));
LANISTA_REGISTER_OP(MakeModule(Softmax2d()));
LANISTA_REGISTER_OP(MakeModule(
    WithInplace("Threshold", {Required("threshold", AttributeKind::kFloat), Required("value", AttributeKind::kFloat)},
                ScriptExpression("torch.threshold$0(input, $1, $2)", {"threshold", "value"}), ThresholdToOnnx)));

}  // namespace
}  // namespace lanista::ops
