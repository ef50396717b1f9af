// Aten operators that create tensors, or copy them along dimensions.
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

// ---- New tensors ----

constexpr char kOptions[] = ", *, dtype=None, layout=None, device=None, pin_memory=None";

// The type of a tensor whose shape is the list `size`.
absl::StatusOr<Types> FromSize(const OpCall& call, v1::Tensor::DataType type) {
  const auto entries = AtenArguments(call).List("size");
  if (!entries.has_value()) return Types{graph::TensorType(type)};
  Dims dims;
  for (const v1::ValueType& entry : *entries) {
    if (entry.has_value() && entry.value() < 0) return absl::InvalidArgumentError("sizes must not be negative");
    dims.push_back(entry.has_value() ? entry.value() : -1);
  }
  return Types{graph::TensorType(type, dims)};
}

// A tensor filled with one value, as ONNX. `integer`: the value, if it is an integer.
absl::StatusOr<Names> Fill(const OpCall& call, OnnxWriter& writer, double value,
                           std::optional<int64_t> integer = std::nullopt) {
  const auto dims = call.outputs.empty() ? std::nullopt : graph::DimsOf(call.outputs[0]);
  if (!dims.has_value() || dims->empty()) return OnnxNeeds("the rank");
  const v1::Tensor::DataType type = call.outputs[0].data_type();
  if (type == v1::Tensor::DATA_TYPE_UNSPECIFIED) return OnnxNeeds("the element type");
  const AtenArguments a(call);
  const auto entries = a.List("size");
  const std::vector<int> edges = a.Edges("size");
  Names parts;
  for (size_t i = 0; i < dims->size(); ++i) {
    if ((*dims)[i] >= 0) {
      parts.push_back(OnnxInts(writer, {(*dims)[i]}));
    } else if (entries.has_value() && edges.size() == dims->size()) {
      parts.push_back(OnnxUnsqueeze(writer, writer.Input(edges[i]), {0}));
    } else {
      return OnnxNeeds("all sizes");
    }
  }
  const std::string shape = writer.Node("Concat", parts, {{"axis", int64_t{0}}})[0];
  LANISTA_ASSIGN_OR_RETURN(const std::string one, OnnxNumber(writer, value, integer, type));
  return writer.Node("Expand", {one, shape});
}

OnnxFunction Filled(std::optional<double> value) {
  if (!value.has_value()) return nullptr;
  return [value](const OpCall& call, OnnxWriter& writer) { return Fill(call, writer, *value); };
}

// `value`: the fill value; nullopt for random or undefined elements.
AtenSpec New(const std::string& type, std::optional<double> value) {
  AtenSpec spec = Move(Function(
      type, std::string("size") + kOptions + (type == "empty.memory_format" ? ", memory_format=None" : ""),
      [](const OpCall& call) { return FromSize(call, AtenArguments(call).DataType("dtype", v1::Tensor::FLOAT32)); },
      Filled(value)));
  // C++ takes the options as one argument.
  spec.python_function = "torch." + std::exchange(spec.function, "");
  spec.stateful = !value.has_value();
  spec.any_inputs = true;
  return spec;
}

AtenSpec Full() {
  AtenSpec spec = New("full", 0);
  spec.arguments = std::string("size, fill_value") + kOptions;
  spec.infer = [](const OpCall& call) {
    const AtenArguments a(call);
    const v1::ValueType::Kind kind = a.Type("fill_value").kind();
    const v1::Tensor::DataType type = kind == v1::ValueType::FLOAT ? v1::Tensor::FLOAT32
                                      : kind == v1::ValueType::INT ? v1::Tensor::INT64
                                                                   : v1::Tensor::DATA_TYPE_UNSPECIFIED;
    return FromSize(call, a.DataType("dtype", type));
  };
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const auto value = AtenArguments(call).Number("fill_value");
    if (!value.has_value()) return OnnxNeeds("the value");
    return Fill(call, writer, *value, AtenArguments(call).Int("fill_value"));
  };
  return spec;
}

// With the dtype of the first tensor: x.new_zeros(2, 3).
AtenSpec NewLike(const std::string& type, std::optional<double> value) {
  AtenSpec spec = Move(Method(
      type, std::string("self, size") + kOptions,
      [](const OpCall& call) {
        const AtenArguments a(call);
        return FromSize(call, a.DataType("dtype", a.Type("self").data_type()));
      },
      Filled(value)));
  // C++ takes the options as one argument, if there are any.
  spec.cpp = absl::StrCat("{self}.", type, "({size})");
  spec.stateful = !value.has_value();
  return spec;
}

// With the dtype and the shape of the first tensor.
AtenSpec Like(const std::string& type, std::optional<double> value) {
  AtenSpec spec = Move(Function(type, std::string("self") + kOptions + ", memory_format=None",
                                [](const OpCall& call) -> absl::StatusOr<Types> {
                                  const AtenArguments a(call);
                                  v1::ValueType result = a.Type("self");
                                  if (result.kind() != v1::ValueType::TENSOR) result = graph::TensorType();
                                  result.set_data_type(a.DataType("dtype", result.data_type()));
                                  return Types{result};
                                }));
  spec.python_function = "torch." + std::exchange(spec.function, "");
  spec.stateful = !value.has_value();
  if (!value.has_value()) return spec;
  spec.onnx = [value](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    if (call.outputs.empty() || call.outputs[0].data_type() == v1::Tensor::DATA_TYPE_UNSPECIFIED) {
      return OnnxNeeds("the element type");
    }
    const v1::Tensor::DataType type = call.outputs[0].data_type();
    const std::string one = OnnxScalar(writer, *value);
    return writer.Node("Expand", {type == v1::Tensor::FLOAT32 ? one : OnnxCast(writer, one, type),
                                  writer.Node("Shape", {writer.Input(0)})[0]});
  };
  return spec;
}

// A scalar integer argument in ONNX; `otherwise` if it is none. Empty: it is no integer.
std::string OnnxInteger(const OpCall& call, const std::string& name, int64_t otherwise, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (!call.attributes.Has(name) && a.Edge(name) < 0) return writer.Constant(Dims{otherwise}, {});
  if (const auto value = a.Int(name)) return writer.Constant(Dims{*value}, {});
  return a.Edge(name) >= 0 && a.Type(name).kind() == v1::ValueType::INT ? writer.Input(a.Edge(name)) : "";
}

absl::StatusOr<Names> ArangeToOnnx(const OpCall& call, OnnxWriter& writer) {
  const v1::Tensor::DataType type =
      call.outputs.empty() ? v1::Tensor::DATA_TYPE_UNSPECIFIED : call.outputs[0].data_type();
  if (type == v1::Tensor::DATA_TYPE_UNSPECIFIED) return OnnxNeeds("the element type");
  const std::string start = OnnxInteger(call, "start", 0, writer), end = OnnxInteger(call, "end", 0, writer),
                    step = OnnxInteger(call, "step", 1, writer);
  if (start.empty() || end.empty() || step.empty()) {
    return absl::UnimplementedError("a range of numbers that are no integers is not written as ONNX");
  }
  const Names range = writer.Node("Range", {start, end, step});
  return type == v1::Tensor::INT64 ? range : Names{OnnxCast(writer, range[0], type)};
}

// Evenly spaced numbers.
AtenSpec Arange(const std::string& overload, const std::string& arguments) {
  AtenSpec spec = Move(Function(
      "arange" + overload, arguments + kOptions,
      [](const OpCall& call) -> absl::StatusOr<Types> {
        const AtenArguments a(call);
        const bool begins = call.attributes.Has("start") || a.Edge("start") >= 0;
        const bool steps = call.attributes.Has("step") || a.Edge("step") >= 0;
        bool integers = true;
        for (const char* const name : {"start", "end", "step"}) {
          const bool given = call.attributes.Has(name) || a.Edge(name) >= 0;
          integers = integers && (!given || a.Type(name).kind() == v1::ValueType::INT);
        }
        const v1::Tensor::DataType type =
            a.DataType("dtype", integers ? v1::Tensor::INT64 : v1::Tensor::DATA_TYPE_UNSPECIFIED);
        const auto start = begins ? a.Int("start") : std::make_optional<int64_t>(0);
        const auto step = steps ? a.Int("step") : std::make_optional<int64_t>(1);
        const auto end = a.Int("end");
        if (!start.has_value() || !end.has_value() || !step.has_value()) return Types{graph::TensorType(type, {-1})};
        if (*step == 0 || (*step > 0 ? *end < *start : *end > *start)) {
          return absl::InvalidArgumentError("this range has no end");
        }
        // Unsigned, because the difference of two numbers may be larger than the largest number.
        const uint64_t length = *step > 0 ? static_cast<uint64_t>(*end) - static_cast<uint64_t>(*start)
                                          : static_cast<uint64_t>(*start) - static_cast<uint64_t>(*end);
        const uint64_t stride = *step > 0 ? static_cast<uint64_t>(*step) : uint64_t{0} - static_cast<uint64_t>(*step);
        const uint64_t count = length / stride + (length % stride != 0 ? 1 : 0);
        if (count > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
          return absl::InvalidArgumentError("this range is too long");
        }
        return Types{graph::TensorType(type, {static_cast<int64_t>(count)})};
      },
      ArangeToOnnx));
  spec.python_function = "torch." + std::exchange(spec.function, "");
  spec.any_inputs = true;
  return spec;
}

// ---- Tensors made of numbers ----

// Flattens a list (of lists) of numbers into `numbers`, and its lengths into `dims`. False: an element is no number, or
// the lists differ in length.
bool Unpack(const v1::Value& value, size_t depth, Dims* dims, std::vector<const v1::Value*>* numbers) {
  if (!value.has_list()) {
    numbers->push_back(&value);
    return depth == dims->size() && (value.has_i() || value.has_f() || value.has_b());
  }
  const int64_t length = value.list().values_size();
  if (depth == dims->size() && numbers->empty()) dims->push_back(length);
  if (depth >= dims->size() || (*dims)[depth] != length) return false;
  for (const v1::Value& element : value.list().values()) {
    if (!Unpack(element, depth + 1, dims, numbers)) return false;
  }
  return true;
}

// The constant `name` of a call; nullptr: no constant gives it.
const v1::Value* ConstantArgument(const OpCall& call, const std::string& name) {
  for (const v1::Attribute& attribute : call.node.op().attr()) {
    if (attribute.key() == name) return &attribute.value();
  }
  return nullptr;
}

v1::Tensor::DataType DataTypeOf(v1::ValueType::Kind kind) {
  return kind == v1::ValueType::FLOAT     ? v1::Tensor::FLOAT32
         : kind == v1::ValueType::INT     ? v1::Tensor::INT64
         : kind == v1::ValueType::BOOLEAN ? v1::Tensor::BOOL
                                          : v1::Tensor::DATA_TYPE_UNSPECIFIED;
}

// `data`: the name of the argument that holds the numbers.
absl::StatusOr<Types> InferLiteral(const OpCall& call, const std::string& data) {
  const AtenArguments a(call);
  if (const v1::Value* const constant = ConstantArgument(call, data)) {
    Dims dims;
    std::vector<const v1::Value*> numbers;
    if (!Unpack(*constant, 0, &dims, &numbers)) return absl::InvalidArgumentError("these numbers make no tensor");
    const v1::Tensor::DataType type =
        numbers.empty() ? v1::Tensor::FLOAT32 : DataTypeOf(graph::TypeOfValue(*numbers[0]).kind());
    return Types{graph::TensorType(a.DataType("dtype", type), dims)};
  }
  const v1::ValueType type = a.Type(data);
  if (type.kind() != v1::ValueType::LIST && a.Edges(data).size() < 2) {
    const v1::Tensor::DataType element = a.DataType("dtype", DataTypeOf(type.kind()));
    return Types{type.kind() == v1::ValueType::KIND_UNSPECIFIED ? graph::TensorType(element)
                                                                : graph::TensorType(element, Dims{})};
  }
  const auto items = a.List(data);
  if (!items.has_value() || items->empty() || (*items)[0].kind() == v1::ValueType::LIST) {
    return Types{graph::TensorType(a.DataType("dtype", v1::Tensor::DATA_TYPE_UNSPECIFIED))};
  }
  return Types{
      graph::TensorType(a.DataType("dtype", DataTypeOf((*items)[0].kind())), {static_cast<int64_t>(items->size())})};
}

absl::StatusOr<Names> LiteralToOnnx(const OpCall& call, OnnxWriter& writer, const std::string& data) {
  const v1::Tensor::DataType type =
      call.outputs.empty() ? v1::Tensor::DATA_TYPE_UNSPECIFIED : call.outputs[0].data_type();
  if (type == v1::Tensor::DATA_TYPE_UNSPECIFIED) return OnnxNeeds("the element type");
  const AtenArguments a(call);
  if (const v1::Value* const constant = ConstantArgument(call, data)) {
    Dims dims;
    std::vector<const v1::Value*> numbers;
    Unpack(*constant, 0, &dims, &numbers);
    std::vector<float> floats;
    Dims integers;
    for (const v1::Value* const number : numbers) {
      if (number->has_f()) floats.push_back(static_cast<float>(number->f()));
      if (!number->has_f()) integers.push_back(number->has_b() ? number->b() : number->i());
    }
    const bool whole = floats.empty() && !integers.empty();
    const std::string value = whole ? writer.Constant(integers, dims) : writer.Constant(floats, dims);
    return Names{type == (whole ? v1::Tensor::INT64 : v1::Tensor::FLOAT32) ? value : OnnxCast(writer, value, type)};
  }
  const std::vector<int> edges = a.Edges(data);
  const bool is_list = a.Type(data).kind() == v1::ValueType::LIST || edges.size() > 1;
  Names parts;
  for (const int edge : edges) {
    const v1::ValueType::Kind kind = call.inputs[static_cast<size_t>(edge)].kind();
    if (kind != v1::ValueType::INT && kind != v1::ValueType::FLOAT)
      return absl::UnimplementedError("these numbers are not written as ONNX");
    parts.push_back(is_list || data == "data" ? OnnxUnsqueeze(writer, writer.Input(edge), {0}) : writer.Input(edge));
  }
  if (parts.empty()) return OnnxNeeds("the numbers");
  const std::string value = parts.size() == 1 ? parts[0] : writer.Node("Concat", parts, {{"axis", int64_t{0}}})[0];
  return Names{OnnxCast(writer, value, type)};
}

// `function`: "tensor" or "as_tensor". `overload`: "" or ".list" for lists, else for one number.
AtenSpec Literal(const std::string& function, const std::string& overload) {
  const std::string data = overload.empty() || overload == ".list" ? "data" : "t";
  AtenSpec spec = Move(Function(
      function + overload,
      data + ", *, dtype=None, device=None" + (function == "tensor" ? ", requires_grad=False" : ""),
      [data](const OpCall& call) { return InferLiteral(call, data); },
      [data](const OpCall& call, OnnxWriter& writer) { return LiteralToOnnx(call, writer, data); }));
  // Neither C++ nor the dispatcher takes a list of arbitrary element type.
  spec.python_function = "torch." + function;
  spec.function.clear();
  spec.any_inputs = true;
  return spec;
}

// ---- Copies along dimensions ----

absl::StatusOr<Types> InferExpand(const OpCall& call) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(a.Type("self"));
  const auto entries = a.List("size");
  if (!entries.has_value()) return UnknownShape(call);
  Dims result;
  for (size_t i = 0; i < entries->size(); ++i) {
    const v1::ValueType& entry = (*entries)[i];
    const bool own = dims.has_value() && i + dims->size() >= entries->size();
    const int64_t size = own ? (*dims)[i + dims->size() - entries->size()] : dims.has_value() ? 1 : -1;
    const int64_t wanted = entry.has_value() ? entry.value() : -1;
    const bool keeps = entry.has_value() && wanted == -1;
    const bool fits =
        keeps ? own || !dims.has_value() : wanted >= -1 && (wanted < 0 || size < 0 || size == 1 || size == wanted);
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot expand ", graph::TypeToText(call.inputs[0]), " to ", wanted, " in dimension ", i));
    }
    // Only a size of 1 can change.
    result.push_back(keeps || size > 1 || size == 0 ? size : wanted);
  }
  if (!dims.has_value() || dims->size() <= result.size()) return Shaped(call, result);
  return absl::InvalidArgumentError(
      absl::StrCat("cannot expand ", graph::TypeToText(call.inputs[0]), " to fewer dimensions"));
}

absl::StatusOr<Types> InferRepeat(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  const auto entries = a.List("repeats");
  if (!dims.has_value() || !entries.has_value()) return UnknownShape(call);
  if (entries->size() < dims->size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("expects a number for each dimension of ", graph::TypeToText(call.inputs[0])));
  }
  dims->insert(dims->begin(), entries->size() - dims->size(), 1);
  for (size_t i = 0; i < dims->size(); ++i) {
    const v1::ValueType& entry = (*entries)[i];
    if (entry.has_value() && entry.value() < 0) return absl::InvalidArgumentError("repeats must not be negative");
    if (!entry.has_value() || (*dims)[i] < 0) {
      (*dims)[i] = entry.has_value() && entry.value() == 1 ? (*dims)[i] : -1;
    } else {
      (*dims)[i] *= entry.value();
    }
  }
  return Shaped(call, *dims);
}

// The list `name` as a 1-d tensor in ONNX; -1 becomes `minus_one`.
absl::StatusOr<std::string> ListToOnnx(const OpCall& call, const std::string& name, int64_t minus_one,
                                       OnnxWriter& writer) {
  const AtenArguments a(call);
  const auto entries = a.List(name);
  const std::vector<int> edges = a.Edges(name);
  if (!entries.has_value() || entries->empty()) return OnnxNeeds(name);
  Names parts;
  for (size_t i = 0; i < entries->size(); ++i) {
    const v1::ValueType& entry = (*entries)[i];
    if (entry.has_value()) {
      parts.push_back(OnnxInts(writer, {entry.value() == -1 ? minus_one : entry.value()}));
    } else if (edges.size() == entries->size()) {
      parts.push_back(OnnxUnsqueeze(writer, writer.Input(edges[i]), {0}));
    } else {
      return OnnxNeeds(name);
    }
  }
  return writer.Node("Concat", parts, {{"axis", int64_t{0}}})[0];
}

absl::StatusOr<Names> ExpandToOnnx(const OpCall& call, OnnxWriter& writer) {
  // ONNX's Expand broadcasts: 1 keeps the input's size.
  LANISTA_ASSIGN_OR_RETURN(const std::string shape, ListToOnnx(call, "size", 1, writer));
  return writer.Node("Expand", {writer.Input(0), shape});
}

absl::StatusOr<Names> RepeatToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(call.inputs[0]);
  const auto entries = a.List("repeats");
  if (!dims.has_value() || !entries.has_value()) return OnnxNeeds("the rank");
  LANISTA_ASSIGN_OR_RETURN(const std::string repeats, ListToOnnx(call, "repeats", -1, writer));
  Dims axes;
  for (size_t i = dims->size(); i < entries->size(); ++i) axes.push_back(static_cast<int64_t>(axes.size()));
  const std::string x = axes.empty() ? writer.Input(0) : OnnxUnsqueeze(writer, writer.Input(0), axes);
  return writer.Node("Tile", {x, repeats});
}

LANISTA_REGISTER_OP(MakeAten(New("zeros", 0)));
LANISTA_REGISTER_OP(MakeAten(New("ones", 1)));
LANISTA_REGISTER_OP(MakeAten(New("empty.memory_format", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(New("rand", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(New("randn", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(Full()));
LANISTA_REGISTER_OP(MakeAten(NewLike("new_zeros", 0)));
LANISTA_REGISTER_OP(MakeAten(NewLike("new_ones", 1)));
LANISTA_REGISTER_OP(MakeAten(NewLike("new_empty", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(Like("zeros_like", 0)));
LANISTA_REGISTER_OP(MakeAten(Like("ones_like", 1)));
LANISTA_REGISTER_OP(MakeAten(Like("empty_like", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(Like("rand_like", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(Like("randn_like", std::nullopt)));
LANISTA_REGISTER_OP(MakeAten(Arange("", "end")));
LANISTA_REGISTER_OP(MakeAten(Arange(".start", "start, end")));
LANISTA_REGISTER_OP(MakeAten(Arange(".start_step", "start, end, step=1")));
LANISTA_REGISTER_OP(MakeAten(Literal("tensor", "")));
LANISTA_REGISTER_OP(MakeAten(Literal("tensor", ".int")));
LANISTA_REGISTER_OP(MakeAten(Literal("tensor", ".float")));
LANISTA_REGISTER_OP(MakeAten(Literal("tensor", ".bool")));
LANISTA_REGISTER_OP(MakeAten(Literal("as_tensor", ".list")));
LANISTA_REGISTER_OP(MakeAten(Literal("as_tensor", ".int")));
LANISTA_REGISTER_OP(MakeAten(Literal("as_tensor", ".float")));
LANISTA_REGISTER_OP(MakeAten(Literal("as_tensor", ".bool")));
LANISTA_REGISTER_OP(MakeAten(Move(Method("expand", "self, size, *, implicit=False", InferExpand, ExpandToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("repeat", "self, repeats", InferRepeat, RepeatToOnnx))));

}  // namespace
}  // namespace lanista::ops
