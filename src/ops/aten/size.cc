// Aten operators on integers: the sizes of tensors, and arithmetic on them. In ONNX, an integer is a scalar tensor.
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

v1::ValueType SizeType(int64_t size) { return size < 0 ? OfKind(v1::ValueType::INT) : graph::KnownInt(size); }

std::string OnnxInt(OnnxWriter& writer, int64_t value) { return writer.Constant(Dims{value}, {}); }

// One size of a tensor; a constant if it is known.
std::string OnnxSize(OnnxWriter& writer, const std::string& tensor, const Dims& dims, int64_t axis) {
  if (dims[axis] >= 0) return OnnxInt(writer, dims[axis]);
  return writer.Node("Gather", {writer.Node("Shape", {tensor})[0], OnnxInt(writer, axis)}, {{"axis", int64_t{0}}})[0];
}

AtenSpec Sizes() {
  AtenSpec spec = Move(Method("size", "self", [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(AtenArguments(call).Type("self"));
    v1::ValueType list = OfKind(v1::ValueType::LIST);
    *list.add_elements() = OfKind(v1::ValueType::INT);
    if (!dims.has_value() || dims->empty()) return Types{list};
    Types items;
    for (const int64_t dim : *dims) items.push_back(SizeType(dim));
    return Types{graph::ListOf(items)};
  }));
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const auto dims = graph::DimsOf(call.inputs[0]);
    if (!dims.has_value()) return OnnxNeeds("the rank");
    Names names;
    for (size_t i = 0; i < dims->size(); ++i) {
      names.push_back(OnnxSize(writer, writer.Input(0), *dims, static_cast<int64_t>(i)));
    }
    return names;
  };
  spec.python = "list({self}.shape)";
  spec.cpp = "{self}.sizes().vec()";
  spec.within_expressions = true;
  return spec;
}

// `argument`: the tensor; `dim`: the argument with the dimension, empty for dimension 0.
AtenSpec Size(const std::string& type, const std::string& argument, const std::string& dim, const std::string& python,
              const std::string& cpp) {
  AtenSpec spec = Move(Method(type, argument + (dim.empty() ? "" : ", " + dim), nullptr));
  const auto axis_of = [dim](const AtenArguments& a) {
    return dim.empty() ? std::make_optional<int64_t>(0) : a.Int(dim);
  };
  spec.infer = [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    const auto dims = graph::DimsOf(a.Type(argument));
    if (!dims.has_value() || !axis_of(a).has_value()) return Types{OfKind(v1::ValueType::INT)};
    if (dims->empty()) return absl::InvalidArgumentError("a tensor without dimensions has no size");
    LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*axis_of(a), *dims));
    return Types{SizeType((*dims)[axis])};
  };
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    const auto dims = graph::DimsOf(call.inputs[0]);
    if (!dims.has_value() || !axis_of(a).has_value()) return OnnxNeeds("the rank");
    LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*axis_of(a), *dims));
    return Names{OnnxSize(writer, writer.Input(0), *dims, axis)};
  };
  spec.python = python;
  spec.cpp = cpp;
  spec.within_expressions = true;
  return spec;
}

AtenSpec Rank() {
  AtenSpec spec = Move(Method("dim", "self", [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(AtenArguments(call).Type("self"));
    return Types{SizeType(dims.has_value() ? static_cast<int64_t>(dims->size()) : -1)};
  }));
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const auto dims = graph::DimsOf(call.inputs[0]);
    if (!dims.has_value()) return OnnxNeeds("the rank");
    return Names{OnnxInt(writer, static_cast<int64_t>(dims->size()))};
  };
  spec.cpp = "{self}.dim()";
  spec.within_expressions = true;
  return spec;
}

AtenSpec NumElements() {
  AtenSpec spec = Move(Method("numel", "self", [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(AtenArguments(call).Type("self"));
    return Types{SizeType(dims.has_value() ? Product(dims->begin(), dims->end()) : -1)};
  }));
  spec.onnx = [](const OpCall&, OnnxWriter& writer) -> absl::StatusOr<Names> {
    return writer.Node("Size", {writer.Input(0)});
  };
  spec.cpp = "{self}.numel()";
  return spec;
}

// ---- Arithmetic ----

std::optional<int64_t> FloorDivide(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::optional<int64_t> Compute(char sign, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (sign) {
    case '+':
      return __builtin_add_overflow(a, b, &result) ? std::nullopt : std::make_optional(result);
    case '-':
      return __builtin_sub_overflow(a, b, &result) ? std::nullopt : std::make_optional(result);
    case '*':
      return __builtin_mul_overflow(a, b, &result) ? std::nullopt : std::make_optional(result);
    case '/':
      return b == -1 ? Compute('-', 0, a) : FloorDivide(a, b);
    default:
      if (b == 0 || b == -1) return b == 0 ? std::nullopt : std::make_optional<int64_t>(0);
      return a - *FloorDivide(a, b) * b;
  }
}

std::string OnnxOperand(const OpCall& call, const std::string& name, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (const auto value = a.Int(name)) return OnnxInt(writer, *value);
  return a.Edge(name) < 0 ? "" : writer.Input(a.Edge(name));
}

// `sign`: '/' rounds towards negative infinity.
AtenSpec Arithmetic(const std::string& name, char sign) {
  AtenSpec spec = OnNumbers(name + ".int", "a, b", [sign](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    if (!a.Int("a").has_value() || !a.Int("b").has_value()) return Types{OfKind(v1::ValueType::INT)};
    const auto result = Compute(sign, *a.Int("a"), *a.Int("b"));
    return Types{result.has_value() ? graph::KnownInt(*result) : OfKind(v1::ValueType::INT)};
  });
  spec.onnx = [sign](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const std::string a = OnnxOperand(call, "a", writer), b = OnnxOperand(call, "b", writer);
    if (a.empty() || b.empty()) return OnnxNeeds("both numbers");
    // ONNX's Mod has the sign of the divisor, like Python's, but its Div rounds towards zero.
    if (sign == '/') return writer.Node("Div", {writer.Node("Sub", {a, writer.Node("Mod", {a, b})[0]})[0], b});
    return writer.Node(sign == '+' ? "Add" : sign == '-' ? "Sub" : sign == '*' ? "Mul" : "Mod", {a, b});
  };
  spec.python = absl::StrCat("{a} ", sign == '/' ? "//" : std::string(1, sign), " {b}");
  // C++ rounds quotients towards zero.
  if (sign != '/' && sign != '%') spec.cpp = spec.python;
  spec.within_expressions = true;
  return spec;
}

AtenSpec Negation() {
  AtenSpec spec = OnNumbers("neg.int", "a", [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto a = AtenArguments(call).Int("a");
    const auto result = a.has_value() ? Compute('-', 0, *a) : std::nullopt;
    return Types{result.has_value() ? graph::KnownInt(*result) : OfKind(v1::ValueType::INT)};
  });
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const std::string a = OnnxOperand(call, "a", writer);
    if (a.empty()) return OnnxNeeds("the number");
    return writer.Node("Neg", {a});
  };
  spec.python = "-{a}";
  spec.cpp = "-{a}";
  spec.within_expressions = true;
  return spec;
}

// A comparison of two integers. ONNX files leave it out together with the assertion that uses it.
AtenSpec Comparison(const std::string& name, const std::string& sign, const std::string& onnx, bool negated = false) {
  AtenSpec spec = OnNumbers(name + ".int", "a, b", Always(v1::ValueType::BOOLEAN));
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const std::string a = OnnxOperand(call, "a", writer), b = OnnxOperand(call, "b", writer);
    if (a.empty() || b.empty()) return OnnxNeeds("both numbers");
    const Names result = writer.Node(onnx, {a, b});
    return negated ? writer.Node("Not", result) : result;
  };
  spec.python = absl::StrCat("{a} ", sign, " {b}");
  spec.cpp = spec.python;
  spec.within_expressions = true;
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(Sizes()));
LANISTA_REGISTER_OP(MakeAten(Size("size.int", "self", "dim", "{self}.size({dim})", "{self}.size({dim})")));
LANISTA_REGISTER_OP(MakeAten(Size("len.Tensor", "t", "", "len({t})", "{t}.size(0)")));
LANISTA_REGISTER_OP(MakeAten(Rank()));
LANISTA_REGISTER_OP(MakeAten(NumElements()));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("add", '+')));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("sub", '-')));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("mul", '*')));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("floordiv", '/')));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("remainder", '%')));
LANISTA_REGISTER_OP(MakeAten(Negation()));
LANISTA_REGISTER_OP(MakeAten(Comparison("eq", "==", "Equal")));
LANISTA_REGISTER_OP(MakeAten(Comparison("ne", "!=", "Equal", true)));
LANISTA_REGISTER_OP(MakeAten(Comparison("lt", "<", "Less")));
LANISTA_REGISTER_OP(MakeAten(Comparison("le", "<=", "LessOrEqual")));
LANISTA_REGISTER_OP(MakeAten(Comparison("gt", ">", "Greater")));
LANISTA_REGISTER_OP(MakeAten(Comparison("ge", ">=", "GreaterOrEqual")));

}  // namespace
}  // namespace lanista::ops
