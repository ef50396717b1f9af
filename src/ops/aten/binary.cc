// Aten operators of two tensors, or of a tensor and a number, element by element.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

enum class BinaryResult {
  // The promoted dtype of both.
  kPromoted,
  // A floating-point dtype, for integers too.
  kFloat,
  kBool,
  // In place: the dtype of the first argument.
  kFirst,
};

// The broadcast shape of these arguments; numbers have no shape.
absl::StatusOr<Types> InferShape(const OpCall& call, const Names& names, v1::Tensor::DataType data_type) {
  const AtenArguments a(call);
  Dims result;
  for (const std::string& name : names) {
    const v1::ValueType type = a.Type(name);
    if (type.kind() == v1::ValueType::INT || type.kind() == v1::ValueType::FLOAT ||
        type.kind() == v1::ValueType::BOOLEAN)
      continue;
    const auto dims = graph::DimsOf(type);
    if (!dims.has_value()) return Types{graph::TensorType(data_type)};
    const auto both = ops::Broadcast(result, *dims);
    if (!both.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot combine ", graph::TypeToText(a.Type(names[0])), " with ", graph::TypeToText(type)));
    }
    result = *both;
  }
  return Types{graph::TensorType(data_type, result)};
}

InferFunction InferBoth(const std::string& other, BinaryResult result) {
  return [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    const v1::ValueType first = a.Type("self");
    v1::Tensor::DataType type = result == BinaryResult::kBool    ? v1::Tensor::BOOL
                                : result == BinaryResult::kFirst ? first.data_type()
                                                                 : Promote(first, a.Type(other));
    if (result == BinaryResult::kFloat && (IsInteger(type) || type == v1::Tensor::BOOL)) type = v1::Tensor::FLOAT32;
    LANISTA_ASSIGN_OR_RETURN(const Types types, InferShape(call, {"self", other}, type));
    if (result != BinaryResult::kFirst) return types;
    // The first tensor cannot change its shape.
    const auto own = graph::DimsOf(first), both = graph::DimsOf(types[0]);
    if (own.has_value() && both.has_value() && own->size() != both->size()) {
      return absl::InvalidArgumentError(absl::StrCat("cannot combine ", graph::TypeToText(first), " with ",
                                                     graph::TypeToText(a.Type(other)), " in place"));
    }
    return Types{first.kind() == v1::ValueType::TENSOR ? first : graph::TensorType()};
  };
}

// An argument as a tensor of `type`.
absl::StatusOr<std::string> Operand(const OpCall& call, const std::string& name, v1::Tensor::DataType type,
                                    OnnxWriter& writer) {
  const AtenArguments a(call);
  const int edge = a.Edge(name);
  if (edge >= 0) {
    const v1::ValueType& from = call.inputs[static_cast<size_t>(edge)];
    const v1::Tensor::DataType data_type = from.kind() == v1::ValueType::INT     ? v1::Tensor::INT64
                                           : from.kind() == v1::ValueType::FLOAT ? v1::Tensor::FLOAT32
                                                                                 : from.data_type();
    const std::string value = writer.Input(edge);
    if (type == data_type) return value;
    if (type == v1::Tensor::DATA_TYPE_UNSPECIFIED || data_type == v1::Tensor::DATA_TYPE_UNSPECIFIED) {
      return absl::FailedPreconditionError("ONNX needs to know the element types here: give input_shape");
    }
    return OnnxCast(writer, value, type);
  }
  const auto number = a.Number(name);
  if (!number.has_value()) return absl::UnimplementedError(absl::StrCat("argument ", name, " is not written as ONNX"));
  return OnnxNumber(writer, *number, a.Int(name), type);
}

// The dtype to which both operands are cast.
v1::Tensor::DataType CommonDataType(const OpCall& call, const std::string& other) {
  const AtenArguments a(call);
  return Promote(a.Type("self"), a.Type(other));
}

// `reversed`: other - self. `alpha`: a factor applied to `other`.
OnnxFunction BinaryToOnnx(const std::string& onnx, const std::string& other, BinaryResult result,
                          bool reversed = false) {
  return [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    v1::Tensor::DataType type = CommonDataType(call, other);
    if (result == BinaryResult::kFloat && (IsInteger(type) || type == v1::Tensor::BOOL)) type = v1::Tensor::FLOAT32;
    if (result == BinaryResult::kFirst && type != call.inputs[0].data_type()) {
      return absl::UnimplementedError("an operator in place that changes types is not written as ONNX");
    }
    LANISTA_ASSIGN_OR_RETURN(const std::string x, Operand(call, "self", type, writer));
    LANISTA_ASSIGN_OR_RETURN(std::string y, Operand(call, other, type, writer));
    const AtenArguments a(call);
    if (call.attributes.IsSet("alpha") || a.Edge("alpha") >= 0) {
      const auto alpha = a.Number("alpha");
      if (!alpha.has_value() || type != v1::Tensor::FLOAT32) {
        return absl::UnimplementedError("this factor `alpha` is not written as ONNX");
      }
      y = writer.Node("Mul", {y, OnnxScalar(writer, *alpha)})[0];
    }
    return writer.Node(onnx, reversed ? Names{y, x} : Names{x, y});
  };
}

AtenSpec Binary(const std::string& type, const std::string& arguments, const std::string& onnx,
                BinaryResult result = BinaryResult::kPromoted, bool reversed = false) {
  return Function(type, arguments, InferBoth("other", result), BinaryToOnnx(onnx, "other", result, reversed));
}

// One that Python has a sign for: "x + y".
AtenSpec Signed(const std::string& type, const std::string& arguments, const std::string& sign, const std::string& onnx,
                BinaryResult result = BinaryResult::kPromoted, bool reversed = false) {
  AtenSpec spec = Binary(type, arguments, onnx, result, reversed);
  spec.python = reversed ? absl::StrCat("{other} ", sign, " {self}") : absl::StrCat("{self} ", sign, " {other}");
  return spec;
}

// A method: "x.add_(y)".
AtenSpec InPlace(const std::string& type, const std::string& arguments, const std::string& onnx) {
  return Method(type, arguments, InferBoth("other", BinaryResult::kFirst),
                BinaryToOnnx(onnx, "other", BinaryResult::kFirst));
}

AtenSpec NotEqual(const std::string& overload) {
  AtenSpec spec = Function("ne." + overload, "self, other", InferBoth("other", BinaryResult::kBool),
                           [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
                             LANISTA_ASSIGN_OR_RETURN(
                                 const Names equal, BinaryToOnnx("Equal", "other", BinaryResult::kBool)(call, writer));
                             return writer.Node("Not", equal);
                           });
  spec.python = "{self} != {other}";
  return spec;
}

AtenSpec Power(const std::string& overload) {
  AtenSpec spec = Function("pow." + overload, "self, exponent", InferBoth("exponent", BinaryResult::kPromoted),
                           BinaryToOnnx("Pow", "exponent", BinaryResult::kPromoted));
  spec.python = "{self} ** {exponent}";
  return spec;
}

AtenSpec Logical(const std::string& type, const std::string& onnx) {
  return Function(type, "self, other", InferBoth("other", BinaryResult::kBool),
                  [onnx](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
                    LANISTA_ASSIGN_OR_RETURN(const std::string x, Operand(call, "self", v1::Tensor::BOOL, writer));
                    LANISTA_ASSIGN_OR_RETURN(const std::string y, Operand(call, "other", v1::Tensor::BOOL, writer));
                    return writer.Node(onnx, {x, y});
                  });
}

AtenSpec Where(const std::string& overload) {
  AtenSpec spec = Function("where." + overload, "condition, self, other", [](const OpCall& call) {
    const AtenArguments a(call);
    const v1::ValueType x = a.Type("self"), y = a.Type("other");
    // Releases of LibTorch differ in how they promote a number here.
    const bool tensors = x.kind() == v1::ValueType::TENSOR && y.kind() == v1::ValueType::TENSOR;
    return InferShape(call, {"condition", "self", "other"},
                      tensors ? Promote(x, y) : v1::Tensor::DATA_TYPE_UNSPECIFIED);
  });
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const v1::Tensor::DataType type = CommonDataType(call, "other");
    LANISTA_ASSIGN_OR_RETURN(const std::string condition, Operand(call, "condition", v1::Tensor::BOOL, writer));
    LANISTA_ASSIGN_OR_RETURN(const std::string x, Operand(call, "self", type, writer));
    LANISTA_ASSIGN_OR_RETURN(const std::string y, Operand(call, "other", type, writer));
    return writer.Node("Where", {condition, x, y});
  };
  return spec;
}

AtenSpec MaskedFill(const std::string& type) {
  const bool in_place = type.find("_.") != std::string::npos;
  AtenSpec spec = Method(type, "self, mask, value", [in_place](const OpCall& call) -> absl::StatusOr<Types> {
    const v1::ValueType self = AtenArguments(call).Type("self");
    LANISTA_ASSIGN_OR_RETURN(const Types types, InferShape(call, {"self", "mask"}, self.data_type()));
    return in_place && self.kind() == v1::ValueType::TENSOR ? Types{self} : types;
  });
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const v1::Tensor::DataType type = AtenArguments(call).Type("self").data_type();
    LANISTA_ASSIGN_OR_RETURN(const std::string mask, Operand(call, "mask", v1::Tensor::BOOL, writer));
    LANISTA_ASSIGN_OR_RETURN(const std::string value, Operand(call, "value", type, writer));
    LANISTA_ASSIGN_OR_RETURN(const std::string x, Operand(call, "self", type, writer));
    return writer.Node("Where", {mask, value, x});
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(Signed("add.Tensor", "self, other, *, alpha=1", "+", "Add")));
LANISTA_REGISTER_OP(MakeAten(Signed("add.Scalar", "self, other, alpha=1", "+", "Add")));
LANISTA_REGISTER_OP(MakeAten(Signed("sub.Tensor", "self, other, *, alpha=1", "-", "Sub")));
LANISTA_REGISTER_OP(MakeAten(Signed("sub.Scalar", "self, other, alpha=1", "-", "Sub")));
LANISTA_REGISTER_OP(MakeAten(Signed("rsub.Tensor", "self, other, *, alpha=1", "-", "Sub", BinaryResult::kPromoted,
                                    true)));
LANISTA_REGISTER_OP(MakeAten(Signed("rsub.Scalar", "self, other, alpha=1", "-", "Sub", BinaryResult::kPromoted, true)));
LANISTA_REGISTER_OP(MakeAten(Signed("mul.Tensor", "self, other", "*", "Mul")));
LANISTA_REGISTER_OP(MakeAten(Signed("mul.Scalar", "self, other", "*", "Mul")));
LANISTA_REGISTER_OP(MakeAten(Signed("div.Tensor", "self, other", "/", "Div", BinaryResult::kFloat)));
LANISTA_REGISTER_OP(MakeAten(Signed("div.Scalar", "self, other", "/", "Div", BinaryResult::kFloat)));
LANISTA_REGISTER_OP(MakeAten(Binary("maximum", "self, other", "Max")));
LANISTA_REGISTER_OP(MakeAten(Binary("minimum", "self, other", "Min")));
LANISTA_REGISTER_OP(MakeAten(Binary("max.other", "self, other", "Max")));
LANISTA_REGISTER_OP(MakeAten(Binary("min.other", "self, other", "Min")));
LANISTA_REGISTER_OP(MakeAten(InPlace("add_.Tensor", "self, other, *, alpha=1", "Add")));
LANISTA_REGISTER_OP(MakeAten(InPlace("add_.Scalar", "self, other, alpha=1", "Add")));
LANISTA_REGISTER_OP(MakeAten(InPlace("sub_.Tensor", "self, other, *, alpha=1", "Sub")));
LANISTA_REGISTER_OP(MakeAten(InPlace("mul_.Tensor", "self, other", "Mul")));
LANISTA_REGISTER_OP(MakeAten(InPlace("mul_.Scalar", "self, other", "Mul")));
LANISTA_REGISTER_OP(MakeAten(InPlace("div_.Tensor", "self, other", "Div")));
LANISTA_REGISTER_OP(MakeAten(InPlace("div_.Scalar", "self, other", "Div")));
LANISTA_REGISTER_OP(MakeAten(Power("Tensor_Scalar")));
LANISTA_REGISTER_OP(MakeAten(Power("Tensor_Tensor")));
LANISTA_REGISTER_OP(MakeAten(Signed("eq.Tensor", "self, other", "==", "Equal", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("eq.Scalar", "self, other", "==", "Equal", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(NotEqual("Tensor")));
LANISTA_REGISTER_OP(MakeAten(NotEqual("Scalar")));
LANISTA_REGISTER_OP(MakeAten(Signed("lt.Tensor", "self, other", "<", "Less", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("lt.Scalar", "self, other", "<", "Less", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("le.Tensor", "self, other", "<=", "LessOrEqual", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("le.Scalar", "self, other", "<=", "LessOrEqual", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("gt.Tensor", "self, other", ">", "Greater", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("gt.Scalar", "self, other", ">", "Greater", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("ge.Tensor", "self, other", ">=", "GreaterOrEqual", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Signed("ge.Scalar", "self, other", ">=", "GreaterOrEqual", BinaryResult::kBool)));
LANISTA_REGISTER_OP(MakeAten(Logical("logical_and", "And")));
LANISTA_REGISTER_OP(MakeAten(Logical("logical_or", "Or")));
LANISTA_REGISTER_OP(MakeAten(Where("self")));
LANISTA_REGISTER_OP(MakeAten(MaskedFill("masked_fill.Scalar")));
LANISTA_REGISTER_OP(MakeAten(MaskedFill("masked_fill_.Scalar")));

}  // namespace
}  // namespace lanista::ops
