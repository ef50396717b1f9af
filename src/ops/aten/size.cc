// Aten operators on integers: the sizes of tensors, and arithmetic on them. In ONNX, an integer is a scalar tensor.
#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

v1::ValueType UnknownInt() {
  v1::ValueType type;
  type.set_kind(v1::ValueType::INT);
  return type;
}

v1::ValueType SizeType(int64_t size) { return size < 0 ? UnknownInt() : graph::KnownInt(size); }

std::string OnnxInt(OnnxWriter& writer, int64_t value) { return writer.Constant(Dims{value}, {}); }

// One size of a tensor; a constant if it is known.
std::string OnnxSize(OnnxWriter& writer, const std::string& tensor, const Dims& dims, int64_t axis) {
  if (dims[axis] >= 0) return OnnxInt(writer, dims[axis]);
  return writer.Node("Gather", {writer.Node("Shape", {tensor})[0], OnnxInt(writer, axis)}, {{"axis", int64_t{0}}})[0];
}

AtenSpec Sizes() {
  AtenSpec spec = Move(Method("size", "self", [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto dims = graph::DimsOf(AtenArguments(call).Type("self"));
    v1::ValueType list;
    list.set_kind(v1::ValueType::LIST);
    *list.add_elements() = UnknownInt();
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
  spec.cpp = "{self}.sizes().vec()";
  return spec;
}

// `argument`: the tensor; `dim`: the argument with the dimension, empty for dimension 0.
AtenSpec Size(const std::string& type, const std::string& argument, const std::string& dim, const std::string& cpp) {
  AtenSpec spec = Move(Method(type, argument + (dim.empty() ? "" : ", " + dim), nullptr));
  const auto axis_of = [dim](const AtenArguments& a) {
    return dim.empty() ? std::make_optional<int64_t>(0) : a.Int(dim);
  };
  spec.infer = [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    const auto dims = graph::DimsOf(a.Type(argument));
    if (!dims.has_value() || !axis_of(a).has_value()) return Types{UnknownInt()};
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
  spec.cpp = cpp;
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

// ---- Lists ----

// The elements of a list. In ONNX they are separate values, one per edge.
std::optional<Types> ItemsOf(const OpCall& call, const std::string& list) {
  const auto items = AtenArguments(call).List(list);
  // The type of an empty list does not give the kind of its elements.
  return items.has_value() && !items->empty() ? items : std::nullopt;
}

AtenSpec OfList(const std::string& type, const std::string& arguments, InferFunction infer, OnnxFunction onnx) {
  AtenSpec spec = Move(Function(type, arguments, std::move(infer), std::move(onnx)));
  spec.function.clear();
  spec.any_inputs = true;
  return spec;
}

AtenSpec Length() {
  return OfList(
      "len.t", "a",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const auto items = ItemsOf(call, "a");
        return Types{items.has_value() ? graph::KnownInt(static_cast<int64_t>(items->size())) : UnknownInt()};
      },
      [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
        const auto items = ItemsOf(call, "a");
        if (!items.has_value()) return OnnxNeeds("the length of the list");
        return Names{OnnxInt(writer, static_cast<int64_t>(items->size()))};
      });
}

// The element type of a list with this type.
v1::ValueType ElementOf(const v1::ValueType& list) {
  return list.elements_size() > 0 ? list.elements(0) : v1::ValueType();
}

AtenSpec Item() {
  return OfList(
      "__getitem__.t", "list, idx",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const AtenArguments a(call);
        const auto items = ItemsOf(call, "list");
        const auto index = a.Int("idx");
        if (!items.has_value() || !index.has_value()) return Types{ElementOf(a.Type("list"))};
        const auto count = static_cast<int64_t>(items->size());
        if (*index >= -count && *index < count) return Types{(*items)[(*index + count) % count]};
        return absl::InvalidArgumentError(absl::StrCat("there is no element ", *index, " in a list of ", count));
      },
      [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
        const AtenArguments a(call);
        const std::vector<int> edges = a.Edges("list");
        const auto count = static_cast<int64_t>(edges.size());
        const auto index = a.Int("idx");
        if (!index.has_value() || *index < -count || *index >= count) return OnnxNeeds("the place in the list");
        return Names{writer.Input(edges[(*index + count) % count])};
      });
}

// Start, end and step of a slice of a list; nullopt: unknown.
std::optional<std::array<int64_t, 3>> BoundsOf(const AtenArguments& a, int64_t count) {
  const auto start = a.IsNone("start") ? std::make_optional<int64_t>(0) : a.Int("start");
  const auto end = a.IsNone("end") ? std::make_optional(count) : a.Int("end");
  const auto step = a.Int("step");
  if (!start.has_value() || !end.has_value() || !step.has_value() || *step < 1) return std::nullopt;
  const auto clip = [count](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + count : at, 0, count); };
  return std::array<int64_t, 3>{clip(*start), clip(*end), *step};
}

AtenSpec ListSlice() {
  return OfList(
      "slice.t", "l, start=None, end=None, step=1",
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const AtenArguments a(call);
        const auto items = ItemsOf(call, "l");
        v1::ValueType list;
        list.set_kind(v1::ValueType::LIST);
        *list.add_elements() = ElementOf(a.Type("l"));
        if (!items.has_value()) return Types{list};
        const auto bounds = BoundsOf(a, static_cast<int64_t>(items->size()));
        Types kept;
        for (int64_t i = bounds ? (*bounds)[0] : 0; bounds && i < (*bounds)[1]; i += (*bounds)[2]) {
          kept.push_back((*items)[i]);
        }
        return Types{kept.empty() ? list : graph::ListOf(kept)};
      },
      [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
        const AtenArguments a(call);
        const std::vector<int> edges = a.Edges("l");
        const auto bounds = BoundsOf(a, static_cast<int64_t>(edges.size()));
        if (!bounds.has_value()) return OnnxNeeds("the bounds of the slice");
        Names names;
        for (int64_t i = (*bounds)[0]; i < (*bounds)[1]; i += (*bounds)[2]) names.push_back(writer.Input(edges[i]));
        return names;
      });
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

AtenSpec Arithmetic(const std::string& name, char sign, const std::string& cpp) {
  AtenSpec spec = Move(Method(name + ".int", "a, b", [sign](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    if (!a.Int("a").has_value() || !a.Int("b").has_value()) return Types{UnknownInt()};
    const auto result = Compute(sign, *a.Int("a"), *a.Int("b"));
    return Types{result.has_value() ? graph::KnownInt(*result) : UnknownInt()};
  }));
  spec.onnx = [sign](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const std::string a = OnnxOperand(call, "a", writer), b = OnnxOperand(call, "b", writer);
    if (a.empty() || b.empty()) return OnnxNeeds("both numbers");
    // ONNX's Mod has the sign of the divisor, like Python's, but its Div rounds towards zero.
    if (sign == '/') return writer.Node("Div", {writer.Node("Sub", {a, writer.Node("Mod", {a, b})[0]})[0], b});
    return writer.Node(sign == '+' ? "Add" : sign == '-' ? "Sub" : sign == '*' ? "Mul" : "Mod", {a, b});
  };
  spec.method.clear();
  spec.cpp = cpp;
  spec.any_inputs = true;
  return spec;
}

AtenSpec Negation() {
  AtenSpec spec = Move(Method("neg.int", "a", [](const OpCall& call) -> absl::StatusOr<Types> {
    const auto a = AtenArguments(call).Int("a");
    const auto result = a.has_value() ? Compute('-', 0, *a) : std::nullopt;
    return Types{result.has_value() ? graph::KnownInt(*result) : UnknownInt()};
  }));
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const std::string a = OnnxOperand(call, "a", writer);
    if (a.empty()) return OnnxNeeds("the number");
    return writer.Node("Neg", {a});
  };
  spec.method.clear();
  spec.cpp = "-{a}";
  spec.any_inputs = true;
  return spec;
}

// a ** b for numbers: always a float.
AtenSpec NumberPower(const std::string& overload) {
  AtenSpec spec = Move(Method("pow." + overload, "a, b", [](const OpCall&) -> absl::StatusOr<Types> {
    v1::ValueType type;
    type.set_kind(v1::ValueType::FLOAT);
    return Types{type};
  }));
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
  spec.method.clear();
  spec.cpp = "std::pow(static_cast<double>({a}), static_cast<double>({b}))";
  spec.any_inputs = true;
  return spec;
}

// A comparison of two integers. ONNX files leave it out together with the assertion that uses it.
AtenSpec Comparison(const std::string& name, const std::string& cpp, const std::string& onnx, bool negated = false) {
  AtenSpec spec = Move(Method(name + ".int", "a, b", [](const OpCall&) -> absl::StatusOr<Types> {
    v1::ValueType type;
    type.set_kind(v1::ValueType::BOOLEAN);
    return Types{type};
  }));
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const std::string a = OnnxOperand(call, "a", writer), b = OnnxOperand(call, "b", writer);
    if (a.empty() || b.empty()) return OnnxNeeds("both numbers");
    const Names result = writer.Node(onnx, {a, b});
    return negated ? writer.Node("Not", result) : result;
  };
  spec.method.clear();
  spec.cpp = absl::StrCat("{a} ", cpp, " {b}");
  spec.any_inputs = true;
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(Sizes()));
LANISTA_REGISTER_OP(MakeAten(Size("size.int", "self", "dim", "{self}.size({dim})")));
LANISTA_REGISTER_OP(MakeAten(Size("len.Tensor", "t", "", "{t}.size(0)")));
LANISTA_REGISTER_OP(MakeAten(Rank()));
LANISTA_REGISTER_OP(MakeAten(NumElements()));
LANISTA_REGISTER_OP(MakeAten(Length()));
LANISTA_REGISTER_OP(MakeAten(Item()));
LANISTA_REGISTER_OP(MakeAten(ListSlice()));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("add", '+', "{a} + {b}")));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("sub", '-', "{a} - {b}")));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("mul", '*', "{a} * {b}")));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("floordiv", '/', "")));
LANISTA_REGISTER_OP(MakeAten(Arithmetic("remainder", '%', "")));
LANISTA_REGISTER_OP(MakeAten(Negation()));
LANISTA_REGISTER_OP(MakeAten(NumberPower("int")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("float")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("int_float")));
LANISTA_REGISTER_OP(MakeAten(NumberPower("float_int")));
LANISTA_REGISTER_OP(MakeAten(Comparison("eq", "==", "Equal")));
LANISTA_REGISTER_OP(MakeAten(Comparison("ne", "!=", "Equal", true)));
LANISTA_REGISTER_OP(MakeAten(Comparison("lt", "<", "Less")));
LANISTA_REGISTER_OP(MakeAten(Comparison("le", "<=", "LessOrEqual")));
LANISTA_REGISTER_OP(MakeAten(Comparison("gt", ">", "Greater")));
LANISTA_REGISTER_OP(MakeAten(Comparison("ge", ">=", "GreaterOrEqual")));

}  // namespace
}  // namespace lanista::ops
