// Aten operators that take parts of a tensor.
#include <algorithm>
#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

absl::StatusOr<Types> InferSlice(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value()) return UnknownShape(call);
  if (!a.Int("dim").has_value()) return Shaped(call, Dims(dims->size(), -1));
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  if (dims->empty()) return absl::InvalidArgumentError("a tensor without dimensions has no slices");
  int64_t& size = (*dims)[axis];
  const auto step = a.Int("step");
  if (step.has_value() && *step < 1) return absl::InvalidArgumentError("the step of a slice must be at least 1");
  const bool from_start = a.IsNone("start") || a.Int("start") == 0;
  const bool to_end = a.IsNone("end") || a.Int("end") == INT64_MAX;
  if (from_start && to_end && step == 1) return Shaped(call, *dims);
  const auto start = a.IsNone("start") ? std::make_optional<int64_t>(0) : a.Int("start");
  const auto end = a.IsNone("end") ? std::make_optional<int64_t>(INT64_MAX) : a.Int("end");
  if (size < 0 || !step.has_value() || !start.has_value() || !end.has_value()) {
    size = -1;
    return Shaped(call, *dims);
  }
  const auto clip = [size](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  size = (std::max<int64_t>(clip(*end) - clip(*start), 0) + *step - 1) / *step;
  return Shaped(call, *dims);
}

// An integer argument as a 1-d tensor of one element.
absl::StatusOr<std::string> OneInt(const OpCall& call, const std::string& name, int64_t if_none, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (a.IsNone(name)) return OnnxInts(writer, {if_none});
  if (a.Int(name).has_value()) return OnnxInts(writer, {*a.Int(name)});
  if (a.Edge(name) < 0) return OnnxNeeds(name);
  return OnnxUnsqueeze(writer, writer.Input(a.Edge(name)), {0});
}

absl::StatusOr<Names> SliceToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (!a.Int("dim").has_value() || !a.Int("step").has_value()) return OnnxNeeds("the dimension");
  LANISTA_ASSIGN_OR_RETURN(const std::string start, OneInt(call, "start", 0, writer));
  LANISTA_ASSIGN_OR_RETURN(const std::string end, OneInt(call, "end", INT64_MAX, writer));
  return writer.Node(
      "Slice", {writer.Input(0), start, end, OnnxInts(writer, {*a.Int("dim")}), OnnxInts(writer, {*a.Int("step")})});
}

// x[:, 1:3], if the dimension is known and near the first or the last one. Tensors have no method for slices.
std::optional<std::string> PythonSlice(const Sources& arguments) {
  const auto get = [&](const char* name, const std::string& otherwise) {
    const auto found = arguments.find(name);
    return found == arguments.end() || found->second == "None" ? otherwise : found->second;
  };
  int dim = 0;
  if (!absl::SimpleAtoi(get("dim", "0"), &dim) || dim < -4 || dim > 3) return std::nullopt;
  const std::string start = get("start", ""), end = get("end", ""), step = get("step", "1");
  std::string index = dim < 0 ? "..., " : "";
  for (int i = 0; i < dim; ++i) index += ":, ";
  absl::StrAppend(&index, start == "0" ? "" : start, ":", end == absl::StrCat(INT64_MAX) ? "" : end);
  if (step != "1") absl::StrAppend(&index, ":", step);
  for (int i = dim; i < -1; ++i) index += ", :";
  return absl::StrCat(get("self", ""), "[", index, "]");
}

AtenSpec Slice() {
  AtenSpec spec = Move(Method("slice.Tensor", "self, dim=0, start=None, end=None, step=1", InferSlice, SliceToOnnx));
  spec.write_python = PythonSlice;
  spec.python_function = "torch.ops.aten.slice.Tensor";
  return spec;
}

absl::StatusOr<Types> InferNarrow(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value()) return UnknownShape(call);
  const auto start = a.Int("start"), length = a.Int("length");
  if (!a.Int("dim").has_value()) return Shaped(call, Dims(dims->size(), -1));
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  int64_t& size = (*dims)[axis];
  if (start.has_value() && length.has_value() && size >= 0) {
    const int64_t from = *start < 0 ? *start + size : *start;
    if (from < 0 || *length < 0 || from + *length > size) {
      return absl::InvalidArgumentError(absl::StrCat("there are no ", *length, " elements from ", *start, " on in ",
                                                     graph::TypeToText(call.inputs[0])));
    }
  }
  size = length.value_or(-1);
  return Shaped(call, *dims);
}

absl::StatusOr<Names> NarrowToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  if (!a.Int("dim").has_value() || !a.Int("start").has_value() || !a.Int("length").has_value() || *a.Int("start") < 0) {
    return OnnxNeeds("the place");
  }
  return writer.Node("Slice",
                     {writer.Input(0), OnnxInts(writer, {*a.Int("start")}),
                      OnnxInts(writer, {*a.Int("start") + *a.Int("length")}), OnnxInts(writer, {*a.Int("dim")})});
}

absl::StatusOr<Types> InferSelect(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value()) return UnknownShape(call);
  if (dims->empty()) return absl::InvalidArgumentError("a tensor without dimensions has no elements to select");
  if (!a.Int("dim").has_value()) return Shaped(call, Dims(dims->size() - 1, -1));
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  const int64_t size = (*dims)[axis];
  const auto index = a.Int("index");
  if (index.has_value() && size >= 0 && (*index < -size || *index >= size)) {
    return absl::InvalidArgumentError(absl::StrCat("there is no element ", *index, " of dimension ", axis, " in ",
                                                   graph::TypeToText(call.inputs[0])));
  }
  dims->erase(dims->begin() + axis);
  return Shaped(call, *dims);
}

absl::StatusOr<Names> SelectToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!a.Int("dim").has_value() || !dims.has_value()) return OnnxNeeds("the rank");
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  const auto index = a.Int("index");
  if (!index.has_value() && a.Edge("index") < 0) return OnnxNeeds("the index");
  const std::string at = index.has_value() ? writer.Constant(Dims{*index}, {}) : writer.Input(a.Edge("index"));
  return writer.Node("Gather", {writer.Input(0), at}, {{"axis", axis}});
}

absl::StatusOr<Types> InferEmbedding(const OpCall& call) {
  const AtenArguments a(call);
  const auto weight = graph::DimsOf(a.Type("weight"));
  auto dims = graph::DimsOf(a.Type("indices"));
  if (weight.has_value() && weight->size() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("expects weights of 2 dimensions, gets ", graph::TypeToText(call.inputs[0])));
  }
  if (!dims.has_value()) return UnknownShape(call);
  dims->push_back(weight.has_value() ? weight->back() : -1);
  return Shaped(call, *dims);
}

absl::StatusOr<Names> EmbeddingToOnnx(const OpCall& call, OnnxWriter& writer) {
  const int indices = AtenArguments(call).Edge("indices");
  if (indices < 0) return OnnxNeeds("the indices");
  return writer.Node("Gather", {writer.Input(0), writer.Input(indices)}, {{"axis", int64_t{0}}});
}

LANISTA_REGISTER_OP(MakeAten(Slice()));
LANISTA_REGISTER_OP(MakeAten(Move(Method("narrow", "self, dim, start, length", InferNarrow, NarrowToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("select.int", "self, dim, index", InferSelect, SelectToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Function("embedding",
                                           "weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False",
                                           InferEmbedding, EmbeddingToOnnx))));

}  // namespace
}  // namespace lanista::ops
