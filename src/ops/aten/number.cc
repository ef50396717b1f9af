// Aten operators on numbers and truth values: what a network computes beside its tensors. Arithmetic on integers, which
// sizes need, stands in size.cc.
#include "absl/strings/str_cat.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

// For numbers of any kind: a float if one of them is.
InferFunction KindOfNumbers(const Names& arguments) {
  return [arguments](const OpCall& call) -> absl::StatusOr<Types> {
    v1::ValueType::Kind common = v1::ValueType::INT;
    for (const std::string& name : arguments) {
      const v1::ValueType::Kind kind = AtenArguments(call).Type(name).kind();
      if (kind == v1::ValueType::FLOAT) return Types{OfKind(kind)};
      if (kind != v1::ValueType::INT) common = v1::ValueType::KIND_UNSPECIFIED;
    }
    return Types{OfKind(common)};
  };
}

// The overload without a name takes numbers of any kind.
std::string Overloaded(const std::string& name, const std::string& overload) {
  return overload.empty() ? name : absl::StrCat(name, ".", overload);
}

// `sign`: the operator in Python.
AtenSpec FloatArithmetic(const std::string& name, const std::string& overload, const std::string& sign) {
  const bool is_float = !overload.empty() || sign == "/";
  AtenSpec spec = OnNumbers(Overloaded(name, overload), "a, b",
                            is_float ? Always(v1::ValueType::FLOAT) : KindOfNumbers({"a", "b"}));
  spec.python = absl::StrCat("{a} ", sign, " {b}");
  // C++ rounds quotients otherwise, and does not refuse to divide by zero.
  if (!overload.empty() && (sign == "+" || sign == "-" || sign == "*")) spec.cpp = spec.python;
  return spec;
}

AtenSpec FloatComparison(const std::string& name, const std::string& overload, const std::string& sign) {
  AtenSpec spec = OnNumbers(Overloaded(name, overload), "a, b", Always(v1::ValueType::BOOLEAN));
  spec.python = absl::StrCat("{a} ", sign, " {b}");
  if (!overload.empty()) spec.cpp = spec.python;
  return spec;
}

AtenSpec FloatNegation(const std::string& overload) {
  AtenSpec spec = OnNumbers(Overloaded("neg", overload), "a",
                            overload == "float" ? Always(v1::ValueType::FLOAT) : KindOfNumbers({"a"}));
  spec.python = "-{a}";
  if (overload == "float") spec.cpp = spec.python;
  return spec;
}

// a ** b: always a float.
AtenSpec NumberPower(const std::string& overload) {
  AtenSpec spec = OnNumbers("pow." + overload, "a, b", Always(v1::ValueType::FLOAT));
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    Names operands;
    for (const char* const name : {"a", "b"}) {
      if (const auto number = a.Number(name)) {
        operands.push_back(OnnxScalar(writer, *number));
      } else if (a.Edge(name) >= 0) {
        operands.push_back(OnnxCast(writer, writer.Input(a.Edge(name)), v1::Tensor::FLOAT32));
      } else {
        return OnnxNeeds("both numbers");
      }
    }
    return writer.Node("Pow", operands);
  };
  spec.python = overload == "int" ? "float(pow({a}, {b}))" : "pow({a}, {b})";
  spec.cpp = "std::pow(static_cast<double>({a}), static_cast<double>({b}))";
  return spec;
}

// A function of Python's module math.
AtenSpec MathFunction(const std::string& name, const std::string& overload, v1::ValueType::Kind result) {
  AtenSpec spec = OnNumbers(Overloaded(name, overload), "a", Always(result));
  spec.python = absl::StrCat("math.", name, "({a})");
  return spec;
}

// `name`: "Int", "Float" or "Bool". A tensor has one element.
AtenSpec NumberConversion(const std::string& name, const std::string& overload) {
  const v1::ValueType::Kind result = name == "Int"     ? v1::ValueType::INT
                                     : name == "Float" ? v1::ValueType::FLOAT
                                                       : v1::ValueType::BOOLEAN;
  AtenSpec spec = OnNumbers(Overloaded(name, overload), "a", Always(result));
  spec.python = result == v1::ValueType::INT ? "int({a})" : result == v1::ValueType::FLOAT ? "float({a})" : "bool({a})";
  return spec;
}

AtenSpec Connective(const std::string& type, const std::string& python, const std::string& cpp) {
  AtenSpec spec = OnNumbers(type, "a, b", Always(v1::ValueType::BOOLEAN));
  spec.python = python;
  spec.cpp = cpp;
  return spec;
}

AtenSpec Not() {
  AtenSpec spec = OnNumbers("__not__", "self", Always(v1::ValueType::BOOLEAN));
  spec.python = "not {self}";
  spec.cpp = "!{self}";
  spec.within_expressions = true;
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("add", "", "+")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("add", "float", "+")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("add", "int_float", "+")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("add", "float_int", "+")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("sub", "", "-")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("sub", "float", "-")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("sub", "int_float", "-")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("sub", "float_int", "-")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("mul", "", "*")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("mul", "float", "*")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("mul", "int_float", "*")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("mul", "float_int", "*")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("div", "", "/")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("div", "int", "/")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("div", "float", "/")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("floordiv", "", "//")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("floordiv", "float", "//")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("floordiv", "int_float", "//")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("floordiv", "float_int", "//")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("remainder", "", "%")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("remainder", "float", "%")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("remainder", "int_float", "%")));
LANISTA_REGISTER_OP(MakeAten(FloatArithmetic("remainder", "float_int", "%")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("eq", "", "==")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("eq", "float", "==")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("eq", "int_float", "==")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("eq", "float_int", "==")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ne", "", "!=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ne", "float", "!=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ne", "int_float", "!=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ne", "float_int", "!=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("lt", "", "<")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("lt", "float", "<")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("lt", "int_float", "<")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("lt", "float_int", "<")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("le", "", "<=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("le", "float", "<=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("le", "int_float", "<=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("le", "float_int", "<=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("gt", "", ">")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("gt", "float", ">")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("gt", "int_float", ">")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("gt", "float_int", ">")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ge", "", ">=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ge", "float", ">=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ge", "int_float", ">=")));
LANISTA_REGISTER_OP(MakeAten(FloatComparison("ge", "float_int", ">=")));
LANISTA_REGISTER_OP(MakeAten(FloatNegation("float")));
LANISTA_REGISTER_OP(MakeAten(FloatNegation("Scalar")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("int")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("float")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("int_float")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("float_int")));
LANISTA_REGISTER_OP(MakeAten(MathFunction("floor", "int", v1::ValueType::INT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("floor", "float", v1::ValueType::INT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("floor", "Scalar", v1::ValueType::INT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("ceil", "int", v1::ValueType::INT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("ceil", "float", v1::ValueType::INT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("ceil", "Scalar", v1::ValueType::INT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("sqrt", "int", v1::ValueType::FLOAT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("sqrt", "float", v1::ValueType::FLOAT)));
LANISTA_REGISTER_OP(MakeAten(MathFunction("sqrt", "Scalar", v1::ValueType::FLOAT)));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Int", "Tensor")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Int", "float")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Int", "bool")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Int", "Scalar")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Float", "Tensor")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Float", "int")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Float", "bool")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Float", "Scalar")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Bool", "Tensor")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Bool", "int")));
LANISTA_REGISTER_OP(MakeAten(NumberConversion("Bool", "float")));
LANISTA_REGISTER_OP(MakeAten(Connective("__and__.bool", "{a} and {b}", "{a} && {b}")));
LANISTA_REGISTER_OP(MakeAten(Connective("__or__.bool", "{a} or {b}", "{a} || {b}")));
LANISTA_REGISTER_OP(MakeAten(Not()));

}  // namespace
}  // namespace lanista::ops
