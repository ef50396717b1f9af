// Shared by the schemas of aten operators: reading arguments, shapes and types, pieces of ONNX.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {

// ---- Arguments ----

int AtenArguments::Edge(const std::string& name) const {
  const std::vector<int> edges = Edges(name);
  return edges.empty() ? -1 : edges[0];
}

std::vector<int> AtenArguments::Edges(const std::string& name) const {
  std::vector<int> edges;
  for (int i = 0; i < call_.node.inputs_size() && i < static_cast<int>(call_.inputs.size()); ++i) {
    if (call_.node.inputs(i).arg() == name) edges.push_back(i);
  }
  return edges;
}

v1::ValueType AtenArguments::Type(const std::string& name) const {
  const int edge = Edge(name);
  if (edge >= 0) return call_.inputs[static_cast<size_t>(edge)];
  return call_.attributes.Has(name) ? graph::TypeOfValue(call_.attributes.Get(name)) : v1::ValueType();
}

bool AtenArguments::IsNone(const std::string& name) const {
  const int edge = Edge(name);
  return edge < 0 ? !call_.attributes.Has(name) : call_.inputs[static_cast<size_t>(edge)].kind() == v1::ValueType::NONE;
}

std::optional<int64_t> AtenArguments::Int(const std::string& name) const {
  const v1::ValueType type = Type(name);
  return type.kind() == v1::ValueType::INT && type.has_value() ? std::make_optional(type.value()) : std::nullopt;
}

std::optional<double> AtenArguments::Number(const std::string& name) const {
  if (const auto integer = Int(name); integer.has_value()) return static_cast<double>(*integer);
  const v1::Value& value = call_.attributes.Get(name);
  return Edge(name) < 0 && value.has_f() ? std::make_optional(value.f()) : std::nullopt;
}

std::optional<bool> AtenArguments::Bool(const std::string& name) const {
  const v1::Value& value = call_.attributes.Get(name);
  return Edge(name) < 0 && value.has_b() ? std::make_optional(value.b()) : std::nullopt;
}

std::optional<std::string> AtenArguments::String(const std::string& name) const {
  const v1::Value& value = call_.attributes.Get(name);
  return Edge(name) < 0 && value.has_s() ? std::make_optional(value.s()) : std::nullopt;
}

std::optional<Types> AtenArguments::List(const std::string& name) const {
  const std::vector<int> edges = Edges(name);
  if (edges.size() > 1 || (edges.size() == 1 && Type(name).kind() != v1::ValueType::LIST)) {
    Types types;
    for (const int edge : edges) types.push_back(call_.inputs[static_cast<size_t>(edge)]);
    // A value of unknown kind may be a list.
    const bool unknown = types.size() == 1 && types[0].kind() == v1::ValueType::KIND_UNSPECIFIED;
    return unknown ? std::nullopt : std::make_optional(types);
  }
  const v1::Value& value = call_.attributes.Get(name);
  if (edges.empty() && value.has_list() && value.list().values().empty()) return Types{};
  const v1::ValueType type = Type(name);
  if (type.kind() == v1::ValueType::INT) return Types{type};
  if (type.kind() != v1::ValueType::LIST || type.items().empty()) return std::nullopt;
  return Types(type.items().begin(), type.items().end());
}

std::optional<Dims> AtenArguments::Ints(const std::string& name, size_t length) const {
  const std::optional<Types> types = List(name);
  if (!types.has_value()) return std::nullopt;
  Dims ints;
  for (const v1::ValueType& type : *types) {
    if (type.kind() != v1::ValueType::INT || !type.has_value()) return std::nullopt;
    ints.push_back(type.value());
  }
  if (ints.size() == 1 && length > 1) ints.resize(length, ints[0]);
  return ints;
}

v1::Tensor::DataType AtenArguments::DataType(const std::string& name, v1::Tensor::DataType otherwise) const {
  if (IsNone(name)) return otherwise;
  // TorchScript's numbers for data types (c10/core/ScalarType.h).
  static constexpr v1::Tensor::DataType kTypes[] = {
      v1::Tensor::UINT8,     v1::Tensor::INT8,       v1::Tensor::INT16,
      v1::Tensor::INT32,     v1::Tensor::INT64,      v1::Tensor::FLOAT16,
      v1::Tensor::FLOAT32,   v1::Tensor::FLOAT64,    v1::Tensor::DATA_TYPE_UNSPECIFIED,
      v1::Tensor::COMPLEX64, v1::Tensor::COMPLEX128, v1::Tensor::BOOL};
  const auto number = Int(name);
  if (number == 15) return v1::Tensor::BFLOAT16;
  return number.has_value() && *number >= 0 && *number < 12 ? kTypes[*number] : v1::Tensor::DATA_TYPE_UNSPECIFIED;
}

// ---- Types ----

v1::ValueType OfKind(v1::ValueType::Kind kind) {
  v1::ValueType type;
  type.set_kind(kind);
  return type;
}

InferFunction Always(v1::ValueType::Kind kind) {
  return [kind](const OpCall&) -> absl::StatusOr<Types> { return Types{OfKind(kind)}; };
}

Types UnknownShape(const OpCall& call) {
  const bool tensor = !call.inputs.empty() && call.inputs[0].kind() == v1::ValueType::TENSOR;
  return {graph::TensorType(tensor ? call.inputs[0].data_type() : v1::Tensor::DATA_TYPE_UNSPECIFIED)};
}

Types Shaped(const OpCall& call, const Dims& dims) {
  Types types = UnknownShape(call);
  return {graph::TensorType(types[0].data_type(), dims)};
}

absl::StatusOr<int64_t> AxisOf(int64_t dim, const Dims& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  const int64_t range = std::max<int64_t>(rank, 1);
  if (dim >= -range && dim < range) return dim < 0 ? dim + range : dim;
  return absl::InvalidArgumentError(absl::StrCat("there is no dimension ", dim, " in ", ShapeText(dims)));
}

int64_t Product(Dims::const_iterator begin, Dims::const_iterator end) {
  int64_t product = 1;
  for (auto dim = begin; dim != end; ++dim) {
    if (*dim < 0 || __builtin_mul_overflow(product, *dim, &product)) return -1;
  }
  return product;
}

bool AllKnown(const Dims& dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

std::string ShapeText(const Dims& dims) {
  return absl::StrCat(
      "[",
      absl::StrJoin(dims, ", ",
                    [](std::string* out, int64_t dim) { absl::StrAppend(out, std::max<int64_t>(dim, -1)); }),
      "]");
}

std::optional<Dims> Broadcast(Dims a, Dims b) {
  if (a.size() < b.size()) std::swap(a, b);
  for (size_t i = 1; i <= b.size(); ++i) {
    int64_t& size = a[a.size() - i];
    const int64_t other = b[b.size() - i];
    if (size == other || other == 1) continue;
    if (size < 0 && other < 0) {
      size = -1;
    } else if (size == 1 || size < 0) {
      // If one size is unknown and the other is known and not 1, the unknown one is equal to it or is 1.
      size = other;
    } else if (other >= 0) {
      return std::nullopt;
    }
  }
  return a;
}

bool IsFloat(v1::Tensor::DataType type) {
  return type == v1::Tensor::FLOAT32 || type == v1::Tensor::FLOAT64 || type == v1::Tensor::FLOAT16 ||
         type == v1::Tensor::BFLOAT16;
}

bool IsInteger(v1::Tensor::DataType type) {
  return type == v1::Tensor::INT8 || type == v1::Tensor::UINT8 || type == v1::Tensor::INT16 ||
         type == v1::Tensor::INT32 || type == v1::Tensor::INT64;
}

v1::Tensor::DataType Promote(const v1::ValueType& a, const v1::ValueType& b) {
  const v1::Tensor::DataType x = a.data_type();
  // A number changes the dtype of a tensor only if it is of a higher category (boolean, integer, float).
  if (b.kind() == v1::ValueType::INT) return x == v1::Tensor::BOOL ? v1::Tensor::INT64 : x;
  if (b.kind() == v1::ValueType::BOOLEAN) return x;
  if (b.kind() == v1::ValueType::FLOAT) return IsInteger(x) || x == v1::Tensor::BOOL ? v1::Tensor::FLOAT32 : x;
  if (b.kind() != v1::ValueType::TENSOR || a.kind() != v1::ValueType::TENSOR) return v1::Tensor::DATA_TYPE_UNSPECIFIED;
  const v1::Tensor::DataType y = b.data_type();
  const auto sort = [](v1::Tensor::DataType type) {
    return IsFloat(type) ? 3 : IsInteger(type) ? 2 : type == v1::Tensor::BOOL ? 1 : 0;
  };
  if (x == y) return x;
  if (sort(x) == 0 || sort(y) == 0 || sort(x) == sort(y)) return v1::Tensor::DATA_TYPE_UNSPECIFIED;
  return sort(x) > sort(y) ? x : y;
}

// ---- ONNX ----

std::string OnnxInts(OnnxWriter& writer, const Dims& values) {
  return writer.Constant(values, {static_cast<int64_t>(values.size())});
}

std::string OnnxUnsqueeze(OnnxWriter& writer, const std::string& value, const Dims& axes) {
  return writer.Node("Unsqueeze", {value, OnnxInts(writer, axes)})[0];
}

std::string OnnxCast(OnnxWriter& writer, const std::string& value, v1::Tensor::DataType type) {
  // The numbers of onnx.TensorProto.
  static const auto* const numbers = new std::map<v1::Tensor::DataType, int64_t>{
      {v1::Tensor::FLOAT32, 1},  {v1::Tensor::UINT8, 2},    {v1::Tensor::INT8, 3}, {v1::Tensor::INT16, 5},
      {v1::Tensor::INT32, 6},    {v1::Tensor::INT64, 7},    {v1::Tensor::BOOL, 9}, {v1::Tensor::FLOAT16, 10},
      {v1::Tensor::FLOAT64, 11}, {v1::Tensor::BFLOAT16, 16}};
  const auto found = numbers->find(type);
  return writer.Node("Cast", {value}, {{"to", found == numbers->end() ? int64_t{1} : found->second}})[0];
}

absl::StatusOr<std::string> OnnxNumber(OnnxWriter& writer, double value, std::optional<int64_t> integer,
                                       v1::Tensor::DataType type) {
  const auto as_float32 = [&] {
    const std::string scalar = OnnxScalar(writer, value);
    return type == v1::Tensor::FLOAT32 ? scalar : OnnxCast(writer, scalar, type);
  };
  constexpr double kMaxFloat = std::numeric_limits<float>::max();
  const bool fits = std::isnan(value) || std::isinf(value) ||
                    (std::abs(value) <= kMaxFloat && static_cast<double>(static_cast<float>(value)) == value);
  if (integer.has_value() && (!fits || std::abs(value) > 1 << 24 || type == v1::Tensor::INT64)) {
    const std::string scalar = writer.Constant(Dims{*integer}, {});
    return type == v1::Tensor::INT64 ? scalar : OnnxCast(writer, scalar, type);
  }
  if (fits || !(type == v1::Tensor::FLOAT64 || IsInteger(type))) return as_float32();
  if (IsInteger(type)) {
    // As LibTorch, towards zero.
    if (std::abs(value) >= 9.2e18) return absl::UnimplementedError("a number of this size is not written as ONNX");
    return OnnxCast(writer, writer.Constant(Dims{static_cast<int64_t>(value)}, {}), type);
  }
  // A sum of float32 numbers, each the nearest to what is left: three of them have all 53 bits.
  std::string sum;
  double rest = value;
  for (int i = 0; i < 3 && rest != 0 && std::abs(rest) <= kMaxFloat; ++i) {
    const auto part = static_cast<float>(rest);
    const std::string term = OnnxCast(writer, OnnxScalar(writer, part), type);
    sum = sum.empty() ? term : writer.Node("Add", {sum, term})[0];
    rest -= static_cast<double>(part);
  }
  if (rest != 0) return absl::UnimplementedError("a float64 number beyond float32's range is not written as ONNX");
  return sum;
}

absl::Status OnnxNeeds(const std::string& what) {
  return absl::FailedPreconditionError(
      absl::StrCat("ONNX needs ", what, ", which is not known here: give input_shape"));
}

}  // namespace lanista::ops
