// Aten operators of one tensor, element by element.
#include <cmath>

#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

enum class UnaryResult {
  kSame,
  // A floating-point dtype, whatever the input's dtype is.
  kFloat,
  kBool,
};

InferFunction LikeInput(UnaryResult result) {
  return [result](const OpCall& call) -> absl::StatusOr<Types> {
    if (call.inputs.empty() || call.inputs[0].kind() != v1::ValueType::TENSOR) return UnknownShape(call);
    v1::ValueType type = call.inputs[0];
    if (result == UnaryResult::kBool) type.set_data_type(v1::Tensor::BOOL);
    if (result == UnaryResult::kFloat && (IsInteger(type.data_type()) || type.data_type() == v1::Tensor::BOOL)) {
      type.set_data_type(v1::Tensor::FLOAT32);
    }
    return Types{type};
  };
}

// An ONNX node with one input.
OnnxFunction Node(const std::string& type) {
  return [type](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const v1::Tensor::DataType from = call.inputs[0].data_type();
    if (!call.outputs.empty() && call.outputs[0].data_type() != from) {
      return absl::UnimplementedError("ONNX wants floating-point numbers here");
    }
    return writer.Node(type, {writer.Input(0)});
  };
}

AtenSpec Unary(const std::string& name, UnaryResult result, OnnxFunction onnx) {
  return Function(name, "self", LikeInput(result), std::move(onnx));
}

AtenSpec Float(const std::string& name, const std::string& onnx) {
  return Unary(name, UnaryResult::kFloat, Node(onnx));
}
AtenSpec Same(const std::string& name, const std::string& onnx) { return Unary(name, UnaryResult::kSame, Node(onnx)); }

// The variant in place. A function of torch.nn.functional is called by the operator's name, because tensors have no
// such method.
AtenSpec InPlace(AtenSpec spec) {
  spec.type += "_";
  spec.infer = LikeInput(UnaryResult::kSame);
  if (spec.python_function.empty()) spec.method = spec.type;
  spec.function.clear();
  spec.python_function.clear();
  return spec;
}

// The Python function is in torch.nn.functional.
AtenSpec Functional(AtenSpec spec) {
  spec.python_function = "F." + spec.function;
  return spec;
}

absl::StatusOr<Names> Silu(const OpCall&, OnnxWriter& writer) {
  const std::string x = writer.Input(0);
  return writer.Node("Mul", {x, writer.Node("Sigmoid", {x})[0]});
}

Names HardSigmoid(OnnxWriter& writer, const std::string& x) {
  return writer.Node("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
}

absl::StatusOr<Names> HardSigmoidToOnnx(const OpCall&, OnnxWriter& writer) {
  return HardSigmoid(writer, writer.Input(0));
}

absl::StatusOr<Names> HardSwish(const OpCall&, OnnxWriter& writer) {
  const std::string x = writer.Input(0);
  return writer.Node("Mul", {x, HardSigmoid(writer, x)[0]});
}

absl::StatusOr<Names> Rsqrt(const OpCall&, OnnxWriter& writer) {
  return writer.Node("Reciprocal", writer.Node("Sqrt", {writer.Input(0)}));
}

absl::StatusOr<Names> Square(const OpCall&, OnnxWriter& writer) {
  return writer.Node("Mul", {writer.Input(0), writer.Input(0)});
}

absl::StatusOr<Names> Mish(const OpCall&, OnnxWriter& writer) {
  const std::string x = writer.Input(0);
  return writer.Node("Mul", {x, writer.Node("Tanh", writer.Node("Softplus", {x}))[0]});
}

absl::StatusOr<Names> Gelu(const OpCall& call, OnnxWriter& writer) {
  const std::string x = writer.Input(0);
  const auto approximate = AtenArguments(call).String("approximate");
  const std::string half = writer.Node("Mul", {x, OnnxScalar(writer, 0.5)})[0];
  std::string inner;
  if (approximate == "none") {
    inner = writer.Node("Erf", writer.Node("Div", {x, OnnxScalar(writer, std::sqrt(2.0))}))[0];
  } else if (approximate == "tanh") {
    // tanh(sqrt(2 / pi) (x + 0.044715 x^3))
    const std::string cube = writer.Node("Mul", {x, writer.Node("Mul", {x, x})[0]})[0];
    const std::string small = writer.Node("Mul", {cube, OnnxScalar(writer, 0.044715)})[0];
    const std::string sum = writer.Node("Add", {x, small})[0];
    inner = writer.Node("Tanh", writer.Node("Mul", {sum, OnnxScalar(writer, std::sqrt(2 / M_PI))}))[0];
  } else {
    return absl::UnimplementedError("gelu is written as ONNX with approximate \"none\" and \"tanh\"");
  }
  return writer.Node("Mul", {half, writer.Node("Add", {inner, OnnxScalar(writer, 1)})[0]});
}

absl::StatusOr<Names> Softplus(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  // Above a threshold that is not small, both formulas agree to the last bits.
  if (a.Number("beta") != 1 || !a.Number("threshold").has_value() || *a.Number("threshold") < 15) {
    return absl::UnimplementedError("softplus is written as ONNX with beta 1 and its usual threshold");
  }
  return writer.Node("Softplus", {writer.Input(0)});
}

absl::StatusOr<Names> Elu(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (a.Number("scale") != 1 || a.Number("input_scale") != 1 || !a.Number("alpha").has_value()) {
    return absl::UnimplementedError("elu is written as ONNX without scales");
  }
  return writer.Node("Elu", {writer.Input(0)}, {{"alpha", static_cast<float>(*a.Number("alpha"))}});
}

absl::StatusOr<Names> LeakyRelu(const OpCall& call, OnnxWriter& writer) {
  const auto slope = AtenArguments(call).Number("negative_slope");
  if (!slope.has_value()) return absl::UnimplementedError("a computed slope is not written as ONNX");
  return writer.Node("LeakyRelu", {writer.Input(0)}, {{"alpha", static_cast<float>(*slope)}});
}

// Clips between two constants, one of which may be none.
OnnxFunction Clip(const std::string& low, const std::string& high) {
  return [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    if (!IsFloat(call.inputs[0].data_type())) {
      return absl::UnimplementedError("clamping is written as ONNX for floating-point tensors");
    }
    Names inputs = {writer.Input(0)};
    for (const std::string& name : {low, high}) {
      const auto value = name.empty() ? std::nullopt : a.Number(name);
      if (!name.empty() && !a.IsNone(name) && !value.has_value()) {
        return absl::UnimplementedError("a computed bound is not written as ONNX");
      }
      inputs.push_back(value.has_value() ? OnnxScalar(writer, *value) : "");
    }
    return writer.Node("Clip", inputs);
  };
}

AtenSpec EluSpec() {
  AtenSpec spec = Function("elu", "self, alpha=1, scale=1, input_scale=1", LikeInput(UnaryResult::kSame), Elu);
  // Python's function has no scale arguments.
  spec.python_function = "torch.ops.aten.elu.default";
  return spec;
}

AtenSpec HardTanh() {
  return Functional(
      Function("hardtanh", "self, min_val=-1, max_val=1", LikeInput(UnaryResult::kSame), Clip("min_val", "max_val")));
}

AtenSpec Relu6() {
  return Functional(Function(
      "relu6", "self", LikeInput(UnaryResult::kSame), [](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<Names> {
        return writer.Node("Clip", {writer.Input(0), OnnxScalar(writer, 0), OnnxScalar(writer, 6)});
      }));
}

// The values do not change.
absl::StatusOr<Names> Identity(const OpCall&, OnnxWriter& writer) { return writer.Node("Identity", {writer.Input(0)}); }

AtenSpec NoOp(const std::string& name, const std::string& arguments) {
  return Move(Method(name, arguments, LikeInput(UnaryResult::kSame), Identity));
}

AtenSpec Dropout(const std::string& name) {
  AtenSpec spec =
      Function(name, name == "dropout" ? "input, p, train" : "self, p, train", LikeInput(UnaryResult::kSame), Identity);
  spec.stateful = true;
  return spec;
}

// Converts to another dtype or another device.
AtenSpec Converted(const std::string& type, const std::string& arguments, const std::string& python = "") {
  AtenSpec spec = Move(Method(type, arguments, [](const OpCall& call) -> absl::StatusOr<Types> {
    Types types = UnknownShape(call);
    if (!call.inputs.empty() && call.inputs[0].kind() == v1::ValueType::TENSOR) types = {call.inputs[0]};
    types[0].set_data_type(AtenArguments(call).DataType("dtype", types[0].data_type()));
    return types;
  }));
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const v1::Tensor::DataType to =
        call.outputs.empty() ? v1::Tensor::DATA_TYPE_UNSPECIFIED : call.outputs[0].data_type();
    if (AtenArguments(call).IsNone("dtype") || to == call.inputs[0].data_type()) return Identity(call, writer);
    if (to == v1::Tensor::DATA_TYPE_UNSPECIFIED || to == v1::Tensor::COMPLEX64 || to == v1::Tensor::COMPLEX128) {
      return absl::UnimplementedError("a conversion to this type is not written as ONNX");
    }
    return Names{OnnxCast(writer, writer.Input(0), to)};
  };
  // Called by the operator's name otherwise: its overloads differ in argument types, which literals do not show.
  spec.method.clear();
  spec.python = python;
  return spec;
}

AtenSpec AsTensor() {
  AtenSpec spec = Converted("as_tensor", "data, *, dtype=None, device=None");
  spec.python_function = "torch.as_tensor";
  return spec;
}

// The dtype or the device of a tensor.
AtenSpec Property(const std::string& type, v1::ValueType::Kind kind, const std::string& python) {
  AtenSpec spec = OnNumbers(type, "a", Always(kind));
  spec.python = python;
  spec.within_expressions = true;
  return spec;
}

AtenSpec Device() {
  // No kind of value is a device.
  AtenSpec spec = Property("prim::device", v1::ValueType::KIND_UNSPECIFIED, "{a}.device");
  // Devices have no meaning in ONNX; operators with a device argument ignore it.
  spec.onnx = [](const OpCall&, OnnxWriter&) -> absl::StatusOr<Names> { return Names{""}; };
  return spec;
}

// Fills the tensor with random numbers.
AtenSpec Random(const std::string& type, const std::string& arguments) {
  AtenSpec spec = Move(Method(type, "self, " + arguments + ", *, generator=None", LikeInput(UnaryResult::kSame)));
  spec.stateful = true;
  return spec;
}

AtenSpec Negative() {
  AtenSpec spec = Same("neg", "Neg");
  spec.python = "-{self}";
  return spec;
}

AtenSpec SoftMax(const std::string& name, const std::string& onnx) {
  AtenSpec spec = Function(name + ".int", "self, dim, dtype=None", [](const OpCall& call) -> absl::StatusOr<Types> {
    LANISTA_ASSIGN_OR_RETURN(Types types, LikeInput(UnaryResult::kFloat)(call));
    const AtenArguments a(call);
    const auto dims = graph::DimsOf(types[0]);
    if (dims.has_value() && a.Int("dim").has_value()) LANISTA_RETURN_IF_ERROR(AxisOf(*a.Int("dim"), *dims).status());
    types[0].set_data_type(a.DataType("dtype", types[0].data_type()));
    return types;
  });
  spec.onnx = [onnx](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    if (!a.Int("dim").has_value()) return OnnxNeeds("the dimension");
    if (!a.IsNone("dtype")) return absl::UnimplementedError("a softmax with a dtype is not written as ONNX");
    return writer.Node(onnx, {writer.Input(0)}, {{"axis", *a.Int("dim")}});
  };
  spec.flops = FlopsAnElement(3);
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(Same("relu", "Relu")));
LANISTA_REGISTER_OP(MakeAten(InPlace(Same("relu", "Relu"))));
LANISTA_REGISTER_OP(MakeAten(Float("sigmoid", "Sigmoid")));
LANISTA_REGISTER_OP(MakeAten(InPlace(Float("sigmoid", "Sigmoid"))));
LANISTA_REGISTER_OP(MakeAten(Float("tanh", "Tanh")));
LANISTA_REGISTER_OP(MakeAten(InPlace(Float("tanh", "Tanh"))));
LANISTA_REGISTER_OP(MakeAten(Float("exp", "Exp")));
LANISTA_REGISTER_OP(MakeAten(InPlace(Float("exp", "Exp"))));
LANISTA_REGISTER_OP(MakeAten(Float("log", "Log")));
LANISTA_REGISTER_OP(MakeAten(Float("sqrt", "Sqrt")));
LANISTA_REGISTER_OP(MakeAten(Unary("rsqrt", UnaryResult::kFloat, Rsqrt)));
LANISTA_REGISTER_OP(MakeAten(Float("reciprocal", "Reciprocal")));
LANISTA_REGISTER_OP(MakeAten(Float("sin", "Sin")));
LANISTA_REGISTER_OP(MakeAten(Float("cos", "Cos")));
LANISTA_REGISTER_OP(MakeAten(Float("erf", "Erf")));
LANISTA_REGISTER_OP(MakeAten(Unary("square", UnaryResult::kSame, Square)));
LANISTA_REGISTER_OP(MakeAten(Negative()));
LANISTA_REGISTER_OP(MakeAten(Same("abs", "Abs")));
LANISTA_REGISTER_OP(MakeAten(Same("sign", "Sign")));
LANISTA_REGISTER_OP(MakeAten(Same("floor", "Floor")));
LANISTA_REGISTER_OP(MakeAten(Same("ceil", "Ceil")));
LANISTA_REGISTER_OP(MakeAten(Same("round", "Round")));
LANISTA_REGISTER_OP(MakeAten(Unary("logical_not", UnaryResult::kBool, nullptr)));
LANISTA_REGISTER_OP(MakeAten(Functional(Unary("silu", UnaryResult::kSame, Silu))));
LANISTA_REGISTER_OP(MakeAten(InPlace(Functional(Unary("silu", UnaryResult::kSame, Silu)))));
LANISTA_REGISTER_OP(MakeAten(Functional(Unary("hardswish", UnaryResult::kSame, HardSwish))));
LANISTA_REGISTER_OP(MakeAten(InPlace(Functional(Unary("hardswish", UnaryResult::kSame, HardSwish)))));
LANISTA_REGISTER_OP(MakeAten(Functional(Unary("hardsigmoid", UnaryResult::kSame, HardSigmoidToOnnx))));
LANISTA_REGISTER_OP(MakeAten(InPlace(Functional(Unary("hardsigmoid", UnaryResult::kSame, HardSigmoidToOnnx)))));
LANISTA_REGISTER_OP(MakeAten(Functional(Unary("mish", UnaryResult::kSame, Mish))));
LANISTA_REGISTER_OP(MakeAten(Same("selu", "Selu")));
LANISTA_REGISTER_OP(MakeAten(Functional(Function("gelu", "self, *, approximate=\"none\"", LikeInput(UnaryResult::kSame),
                                                 Gelu))));
LANISTA_REGISTER_OP(MakeAten(Functional(Function("softplus", "self, beta=1, threshold=20",
                                                 LikeInput(UnaryResult::kSame), Softplus))));
LANISTA_REGISTER_OP(MakeAten(EluSpec()));
LANISTA_REGISTER_OP(MakeAten(Functional(Function("leaky_relu", "self, negative_slope=0.01",
                                                 LikeInput(UnaryResult::kSame), LeakyRelu))));
LANISTA_REGISTER_OP(MakeAten(InPlace(Functional(Function("leaky_relu", "self, negative_slope=0.01",
                                                         LikeInput(UnaryResult::kSame), LeakyRelu)))));
LANISTA_REGISTER_OP(MakeAten(HardTanh()));
LANISTA_REGISTER_OP(MakeAten(InPlace(HardTanh())));
LANISTA_REGISTER_OP(MakeAten(Relu6()));
LANISTA_REGISTER_OP(MakeAten(Function("clamp", "self, min=None, max=None", LikeInput(UnaryResult::kSame),
                                      Clip("min", "max"))));
LANISTA_REGISTER_OP(MakeAten(InPlace(Function("clamp", "self, min=None, max=None", LikeInput(UnaryResult::kSame),
                                              Clip("min", "max")))));
LANISTA_REGISTER_OP(MakeAten(Function("clamp_min", "self, min", LikeInput(UnaryResult::kSame), Clip("min", ""))));
LANISTA_REGISTER_OP(MakeAten(Function("clamp_max", "self, max", LikeInput(UnaryResult::kSame), Clip("", "max"))));
LANISTA_REGISTER_OP(MakeAten(Dropout("dropout")));
LANISTA_REGISTER_OP(MakeAten(Dropout("dropout_")));
LANISTA_REGISTER_OP(MakeAten(SoftMax("softmax", "Softmax")));
LANISTA_REGISTER_OP(MakeAten(SoftMax("log_softmax", "LogSoftmax")));
LANISTA_REGISTER_OP(MakeAten(NoOp("contiguous", "self, *, memory_format=0")));
LANISTA_REGISTER_OP(MakeAten(NoOp("detach", "self")));
LANISTA_REGISTER_OP(MakeAten(NoOp("clone", "self, *, memory_format=None")));
LANISTA_REGISTER_OP(MakeAten(Converted("to.dtype", "self, dtype, non_blocking=False, copy=False, memory_format=None",
                                       "{self}.to({dtype})")));
LANISTA_REGISTER_OP(MakeAten(Converted("to.device",
                                       "self, device, dtype, non_blocking=False, copy=False, memory_format=None")));
LANISTA_REGISTER_OP(MakeAten(Converted("to.prim_Device", "self, device, dtype=None, non_blocking=False, copy=False",
                                       "{self}.to({device})")));
LANISTA_REGISTER_OP(MakeAten(Converted("to.prim_dtype", "self, dtype=None, non_blocking=False, copy=False",
                                       "{self}.to({dtype})")));
LANISTA_REGISTER_OP(MakeAten(AsTensor()));
LANISTA_REGISTER_OP(MakeAten(Property("prim::dtype", v1::ValueType::INT, "{a}.dtype")));
LANISTA_REGISTER_OP(MakeAten(Device()));
LANISTA_REGISTER_OP(MakeAten(Move(Function("triu", "self, diagonal=0", LikeInput(UnaryResult::kSame)))));
LANISTA_REGISTER_OP(MakeAten(Move(Function("tril", "self, diagonal=0", LikeInput(UnaryResult::kSame)))));
LANISTA_REGISTER_OP(MakeAten(Random("bernoulli_.float", "p=0.5")));
LANISTA_REGISTER_OP(MakeAten(Random("normal_", "mean=0, std=1")));
LANISTA_REGISTER_OP(MakeAten(Random("uniform_", "from=0, to=1")));

}  // namespace
}  // namespace lanista::ops
