// Aten operators that split tensors and join them. The type of a list of tensors has one item per tensor.
#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

Types UnknownList(const OpCall& call) {
  v1::ValueType list;
  list.set_kind(v1::ValueType::LIST);
  *list.add_elements() = UnknownShape(call)[0];
  return {list};
}

Types ListOf(const OpCall& call, const std::vector<Dims>& shapes) {
  Types items;
  for (const Dims& shape : shapes) items.push_back(Shaped(call, shape)[0]);
  return shapes.empty() ? UnknownList(call) : Types{graph::ListOf(items)};
}

// ---- Tensors to lists ----

// The sizes of the pieces along a dimension; nullopt: unknown.
using Pieces = std::function<absl::StatusOr<std::optional<Dims>>(const AtenArguments& a, int64_t size)>;

// A list with more tensors is a mistake, and inference would take long: its length counts as unknown.
constexpr int64_t kMaxPieces = 10000;

// size / each, rounded up.
int64_t CountPieces(int64_t size, int64_t each) { return size / each + (size % each != 0 ? 1 : 0); }

absl::StatusOr<std::optional<Dims>> PiecesOf(int64_t size, int64_t each) {
  if (each < 1) return absl::InvalidArgumentError("pieces must have at least one element");
  if (size < 0 || CountPieces(size, each) > kMaxPieces) return std::optional<Dims>();
  Dims sizes;
  for (int64_t rest = size; rest > 0 || sizes.empty(); rest -= sizes.back()) sizes.push_back(std::min(each, rest));
  return std::make_optional(sizes);
}

absl::StatusOr<std::optional<Dims>> Chunks(const AtenArguments& a, int64_t size) {
  const auto chunks = a.Int("chunks");
  if (!chunks.has_value()) return std::optional<Dims>();
  if (*chunks < 1) return absl::InvalidArgumentError("there must be at least one chunk");
  return PiecesOf(size, size < 0 ? 1 : std::max<int64_t>(1, CountPieces(size, *chunks)));
}

absl::StatusOr<std::optional<Dims>> EqualPieces(const AtenArguments& a, int64_t size) {
  const auto each = a.Int("split_size");
  return each.has_value() ? PiecesOf(size, *each) : std::optional<Dims>();
}

Pieces GivenPieces(const std::string& name) {
  return [name](const AtenArguments& a, int64_t size) -> absl::StatusOr<std::optional<Dims>> {
    const auto sizes = a.Ints(name);
    if (!sizes.has_value()) return std::optional<Dims>();
    // Subtracted from the size, because their sum may overflow.
    bool fits = AllKnown(*sizes);
    int64_t rest = size;
    for (size_t i = 0; fits && size >= 0 && i < sizes->size(); ++i) {
      fits = (*sizes)[i] <= rest;
      rest -= (*sizes)[i];
    }
    if (!fits || (size >= 0 && rest != 0)) {
      return absl::InvalidArgumentError(absl::StrCat("cannot split ", size, " into ", ShapeText(*sizes)));
    }
    return sizes;
  };
}

absl::StatusOr<Types> InferSplit(const OpCall& call, const Pieces& pieces) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value() || !a.Int("dim").has_value()) return UnknownList(call);
  if (dims->empty()) return absl::InvalidArgumentError("a tensor without dimensions cannot be split");
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<Dims> sizes, pieces(a, (*dims)[axis]));
  if (!sizes.has_value()) return UnknownList(call);
  std::vector<Dims> shapes;
  for (const int64_t size : *sizes) {
    shapes.push_back(*dims);
    shapes.back()[axis] = size;
  }
  return ListOf(call, shapes);
}

absl::StatusOr<Names> SplitToOnnx(const OpCall& call, OnnxWriter& writer) {
  const auto dim = AtenArguments(call).Int("dim");
  if (call.outputs.empty() || call.outputs[0].items().empty() || !dim.has_value()) return OnnxNeeds("the sizes");
  Dims sizes;
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*dim, *graph::DimsOf(call.outputs[0].items(0))));
  for (const v1::ValueType& item : call.outputs[0].items()) sizes.push_back(item.shape().dims(static_cast<int>(axis)));
  return writer.Node("Split", {writer.Input(0), OnnxInts(writer, sizes)}, {{"axis", axis}},
                     static_cast<int>(sizes.size()));
}

AtenSpec Split(const std::string& type, const std::string& arguments, const Pieces& pieces) {
  AtenSpec spec = Move(Function(
      type, arguments, [pieces](const OpCall& call) { return InferSplit(call, pieces); }, SplitToOnnx));
  // A list of sizes in braces would be ambiguous in C++.
  if (absl::StartsWith(type, "split")) spec.python_function = "torch." + std::exchange(spec.function, "");
  spec.within_expressions = true;
  return spec;
}

absl::StatusOr<Types> InferUnbind(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value() || !a.Int("dim").has_value()) return UnknownList(call);
  if (dims->empty()) return absl::InvalidArgumentError("a tensor without dimensions cannot be split");
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  const int64_t size = (*dims)[axis];
  if (size < 0 || size > kMaxPieces) return UnknownList(call);
  dims->erase(dims->begin() + axis);
  return ListOf(call, std::vector<Dims>(static_cast<size_t>(size), *dims));
}

absl::StatusOr<Names> UnbindToOnnx(const OpCall& call, OnnxWriter& writer) {
  const auto dims = graph::DimsOf(call.inputs[0]);
  const auto dim = AtenArguments(call).Int("dim");
  if (call.outputs.empty() || call.outputs[0].items().empty() || !dims.has_value() || !dim.has_value()) {
    return OnnxNeeds("the size of the dimension");
  }
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*dim, *dims));
  Names names;
  for (int64_t i = 0; i < call.outputs[0].items_size(); ++i) {
    names.push_back(writer.Node("Gather", {writer.Input(0), writer.Constant(Dims{i}, {})}, {{"axis", axis}})[0]);
  }
  return names;
}

AtenSpec Unbind() {
  AtenSpec spec = Move(Function("unbind.int", "self, dim=0", InferUnbind, UnbindToOnnx));
  spec.within_expressions = true;
  return spec;
}

// ---- Lists to tensors ----

absl::StatusOr<Types> InferJoin(const OpCall& call, bool new_dim) {
  const AtenArguments a(call);
  const auto tensors = a.List("tensors");
  Types unknown = {graph::TensorType()};
  if (!tensors.has_value() || tensors->empty()) return unknown;
  bool alike = true;
  for (const v1::ValueType& tensor : *tensors) alike = alike && tensor.data_type() == (*tensors)[0].data_type();
  if (alike) unknown[0].set_data_type((*tensors)[0].data_type());
  auto result = graph::DimsOf((*tensors)[0]);
  if (!result.has_value() || !a.Int("dim").has_value()) return unknown;
  if (new_dim) result->push_back(1);
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *result));
  if (new_dim) result->pop_back();
  for (size_t i = 1; i < tensors->size(); ++i) {
    const auto dims = graph::DimsOf((*tensors)[i]);
    if (!dims.has_value()) return unknown;
    bool fits = dims->size() == result->size();
    for (size_t d = 0; fits && d < dims->size(); ++d) {
      int64_t& size = (*result)[d];
      const int64_t other = (*dims)[d];
      if (!new_dim && static_cast<int64_t>(d) == axis) {
        // Sizes whose sum overflows are no sizes of real tensors.
        if (size < 0 || other < 0 || __builtin_add_overflow(size, other, &size)) size = -1;
      } else if (size < 0) {
        size = other;
      } else {
        fits = other < 0 || other == size;
      }
    }
    // A legacy rule of LibTorch: an empty 1-d tensor can be joined with anything.
    if (!fits && (dims->size() == 1 || result->size() == 1)) return unknown;
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(new_dim ? "cannot stack " : "cannot concatenate ",
                                                     graph::TypeToText((*tensors)[0]), " and ",
                                                     graph::TypeToText((*tensors)[i])));
    }
  }
  if (new_dim) result->insert(result->begin() + axis, static_cast<int64_t>(tensors->size()));
  return Types{graph::TensorType(unknown[0].data_type(), *result)};
}

absl::StatusOr<Names> CatToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (!a.Int("dim").has_value()) return OnnxNeeds("the dimension");
  Names inputs;
  for (const int edge : a.Edges("tensors")) inputs.push_back(writer.Input(edge));
  return writer.Node("Concat", inputs, {{"axis", *a.Int("dim")}});
}

absl::StatusOr<Names> StackToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  const auto dims = call.outputs.empty() ? std::nullopt : graph::DimsOf(call.outputs[0]);
  if (!a.Int("dim").has_value() || !dims.has_value()) return OnnxNeeds("the rank");
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  Names inputs;
  for (const int edge : a.Edges("tensors")) inputs.push_back(OnnxUnsqueeze(writer, writer.Input(edge), {axis}));
  return writer.Node("Concat", inputs, {{"axis", axis}});
}

LANISTA_REGISTER_OP(MakeAten(Split("chunk", "self, chunks, dim=0", Chunks)));
LANISTA_REGISTER_OP(MakeAten(Split("split.Tensor", "self, split_size, dim=0", EqualPieces)));
LANISTA_REGISTER_OP(MakeAten(Split("split.sizes", "self, split_size, dim=0", GivenPieces("split_size"))));
LANISTA_REGISTER_OP(MakeAten(Split("split", "self, split_sizes, dim=0", GivenPieces("split_sizes"))));
LANISTA_REGISTER_OP(MakeAten(Split("split_with_sizes", "self, split_sizes, dim=0", GivenPieces("split_sizes"))));
LANISTA_REGISTER_OP(MakeAten(Unbind()));
LANISTA_REGISTER_OP(MakeAten(Move(Function(
    "cat", "tensors, dim=0", [](const OpCall& call) { return InferJoin(call, false); }, CatToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Function(
    "stack", "tensors, dim=0", [](const OpCall& call) { return InferJoin(call, true); }, StackToOnnx))));

}  // namespace
}  // namespace lanista::ops
