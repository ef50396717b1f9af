// Aten operators that change a tensor's shape and keep all elements in their order.
#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

absl::Status Misfit(const OpCall& call, const Dims& wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("cannot give ", graph::TypeToText(call.inputs[0]), " the shape ", ShapeText(wanted)));
}

// `name`: the argument with the new sizes; at most one of them may be -1, which is inferred.
absl::StatusOr<Types> InferView(const OpCall& call, const std::string& name) {
  const AtenArguments a(call);
  const auto entries = a.List(name);
  if (!entries.has_value()) return UnknownShape(call);
  const auto dims = graph::DimsOf(a.Type("self"));
  const int64_t elements = dims.has_value() ? Product(dims->begin(), dims->end()) : -1;
  Dims result;
  int64_t rest = 1;
  int counted = -1, unknown = 0;
  for (const v1::ValueType& entry : *entries) {
    const int64_t size = entry.has_value() ? entry.value() : -1;
    if (entry.kind() != v1::ValueType::INT && entry.kind() != v1::ValueType::KIND_UNSPECIFIED) {
      return absl::InvalidArgumentError(absl::StrCat("a shape is of integers, not of ", graph::TypeToText(entry)));
    }
    if (entry.has_value() && (size < -1 || (size == -1 && counted >= 0))) {
      return absl::InvalidArgumentError("a shape has positive sizes, and one -1 at most");
    }
    if (entry.has_value() && size == -1) counted = static_cast<int>(result.size());
    if (!entry.has_value()) ++unknown;
    result.push_back(size);
    if (size >= 0 && __builtin_mul_overflow(rest, size, &rest)) return UnknownShape(call);
  }
  if (unknown > 0 || elements < 0) return Shaped(call, result);
  if (counted < 0) {
    if (rest != elements) return Misfit(call, result);
    return Shaped(call, result);
  }
  if (rest == 0 || elements % rest != 0) return Misfit(call, result);
  result[counted] = elements / rest;
  return Shaped(call, result);
}

// Reshapes to the inferred type; sizes that the type does not give come from the model's own computation.
absl::StatusOr<Names> ReshapeToOnnx(const OpCall& call, OnnxWriter& writer, const std::string& list) {
  const auto dims = call.outputs.empty() ? std::nullopt : graph::DimsOf(call.outputs[0]);
  if (!dims.has_value()) return OnnxNeeds("the rank of the new shape");
  if (std::count(dims->begin(), dims->end(), 0) > 0) {
    return absl::UnimplementedError("a tensor without elements is not written as ONNX");
  }
  const AtenArguments a(call);
  const auto from = graph::DimsOf(call.inputs[0]);
  Dims sizes = *dims;
  // In ONNX, 0 stands for the input's own size.
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < -1 && from.has_value() && i < from->size() && (*from)[i] == sizes[i]) sizes[i] = 0;
  }
  const auto open = [](int64_t size) { return size < 0; };
  if (std::count_if(sizes.begin(), sizes.end(), open) <= 1) {
    std::replace_if(sizes.begin(), sizes.end(), open, -1);
    return writer.Node("Reshape", {writer.Input(0), OnnxInts(writer, sizes)});
  }
  const auto entries = list.empty() ? std::nullopt : a.List(list);
  const std::vector<int> edges = list.empty() ? std::vector<int>() : a.Edges(list);
  if (!entries.has_value() || edges.size() != sizes.size()) return OnnxNeeds("all sizes but one");
  Names parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool computed = open(sizes[i]) && !(*entries)[i].has_value();
    parts.push_back(computed ? OnnxUnsqueeze(writer, writer.Input(edges[i]), {0})
                             : OnnxInts(writer, {std::max<int64_t>(sizes[i], -1)}));
  }
  const std::string shape = writer.Node("Concat", parts, {{"axis", int64_t{0}}})[0];
  return writer.Node("Reshape", {writer.Input(0), shape});
}

AtenSpec View(const std::string& type, const std::string& list) {
  AtenSpec spec = Move(Method(
      type, "self, " + list, [list](const OpCall& call) { return InferView(call, list); },
      [list](const OpCall& call, OnnxWriter& writer) { return ReshapeToOnnx(call, writer, list); }));
  spec.keeps_elements = true;
  return spec;
}

absl::StatusOr<Names> AsTyped(const OpCall& call, OnnxWriter& writer) { return ReshapeToOnnx(call, writer, ""); }

absl::StatusOr<Types> InferFlatten(const OpCall& call) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(a.Type("self"));
  const auto first = a.Int("start_dim"), last = a.Int("end_dim");
  if (!dims.has_value() || !first.has_value() || !last.has_value()) return UnknownShape(call);
  LANISTA_ASSIGN_OR_RETURN(const int64_t start, AxisOf(*first, *dims));
  LANISTA_ASSIGN_OR_RETURN(const int64_t end, AxisOf(*last, *dims));
  if (dims->empty()) return Shaped(call, {1});
  if (start > end) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot flatten dimensions ", start, " to ", end, " of ", graph::TypeToText(call.inputs[0])));
  }
  Dims result(dims->begin(), dims->begin() + start);
  result.push_back(start == end ? (*dims)[start] : Product(dims->begin() + start, dims->begin() + end + 1));
  result.insert(result.end(), dims->begin() + end + 1, dims->end());
  return Shaped(call, result);
}

AtenSpec Flatten() {
  AtenSpec spec = Move(Function("flatten.using_ints", "self, start_dim=0, end_dim=-1", InferFlatten));
  spec.onnx = [](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    if (a.Int("start_dim") != 1 || a.Int("end_dim") != -1) return AsTyped(call, writer);
    return writer.Node("Flatten", {writer.Input(0)}, {{"axis", int64_t{1}}});
  };
  spec.keeps_elements = true;
  return spec;
}

absl::StatusOr<Types> InferUnsqueeze(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value() || !a.Int("dim").has_value()) return UnknownShape(call);
  dims->push_back(1);
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  dims->pop_back();
  dims->insert(dims->begin() + axis, 1);
  return Shaped(call, *dims);
}

absl::StatusOr<Names> UnsqueezeToOnnx(const OpCall& call, OnnxWriter& writer) {
  const auto dim = AtenArguments(call).Int("dim");
  if (!dim.has_value()) return OnnxNeeds("the dimension");
  return Names{OnnxUnsqueeze(writer, writer.Input(0), {*dim})};
}

// If a dimension may or may not be 1, the rank of the result is unknown.
absl::StatusOr<Types> InferSqueeze(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value() || !a.Int("dim").has_value()) return UnknownShape(call);
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*a.Int("dim"), *dims));
  if (dims->empty()) return Shaped(call, *dims);
  if ((*dims)[axis] < 0) return UnknownShape(call);
  if ((*dims)[axis] == 1) dims->erase(dims->begin() + axis);
  return Shaped(call, *dims);
}

absl::StatusOr<Types> InferSqueezeAll(const OpCall& call) {
  const auto dims = graph::DimsOf(AtenArguments(call).Type("self"));
  if (!dims.has_value() || !AllKnown(*dims)) return UnknownShape(call);
  Dims result;
  std::copy_if(dims->begin(), dims->end(), std::back_inserter(result), [](int64_t dim) { return dim != 1; });
  return Shaped(call, result);
}

absl::StatusOr<Names> SqueezeToOnnx(const OpCall& call, OnnxWriter& writer) {
  const auto from = graph::DimsOf(call.inputs[0]);
  const auto to = call.outputs.empty() ? std::nullopt : graph::DimsOf(call.outputs[0]);
  const auto dim = AtenArguments(call).Int("dim");
  if (!from.has_value() || !to.has_value() || !dim.has_value()) {
    return OnnxNeeds("whether the dimension that goes is 1");
  }
  if (from->size() == to->size()) return writer.Node("Identity", {writer.Input(0)});
  LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(*dim, *from));
  return writer.Node("Squeeze", {writer.Input(0), OnnxInts(writer, {axis})});
}

absl::StatusOr<Types> InferPermute(const OpCall& call) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(a.Type("self"));
  const auto order = a.Ints("dims");
  if (!order.has_value()) return UnknownShape(call);
  if (!dims.has_value()) return Shaped(call, Dims(order->size(), -1));
  Dims result;
  std::vector<bool> used(dims->size());
  for (const int64_t dim : *order) {
    LANISTA_ASSIGN_OR_RETURN(const int64_t axis, AxisOf(dim, *dims));
    if (static_cast<size_t>(axis) >= used.size() || used[axis]) return Misfit(call, *order);
    used[axis] = true;
    result.push_back((*dims)[axis]);
  }
  if (result.size() == dims->size()) return Shaped(call, result);
  return absl::InvalidArgumentError(
      absl::StrCat("expects ", order->size(), " dimensions (dims), gets ", graph::TypeToText(call.inputs[0])));
}

absl::StatusOr<Names> PermuteToOnnx(const OpCall& call, OnnxWriter& writer) {
  auto order = AtenArguments(call).Ints("dims");
  if (!order.has_value()) return OnnxNeeds("the order of the dimensions");
  for (int64_t& dim : *order) {
    if (dim < 0) dim += static_cast<int64_t>(order->size());
  }
  return writer.Node("Transpose", {writer.Input(0)}, {{"perm", *order}});
}

absl::StatusOr<Types> InferTranspose(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  if (!dims.has_value()) return UnknownShape(call);
  if (!a.Int("dim0").has_value() || !a.Int("dim1").has_value()) return Shaped(call, Dims(dims->size(), -1));
  LANISTA_ASSIGN_OR_RETURN(const int64_t first, AxisOf(*a.Int("dim0"), *dims));
  LANISTA_ASSIGN_OR_RETURN(const int64_t second, AxisOf(*a.Int("dim1"), *dims));
  if (!dims->empty()) std::swap((*dims)[first], (*dims)[second]);
  return Shaped(call, *dims);
}

absl::StatusOr<Names> TransposeToOnnx(const OpCall& call, OnnxWriter& writer) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value() || !a.Int("dim0").has_value() || !a.Int("dim1").has_value()) return OnnxNeeds("the rank");
  LANISTA_ASSIGN_OR_RETURN(const int64_t first, AxisOf(*a.Int("dim0"), *dims));
  LANISTA_ASSIGN_OR_RETURN(const int64_t second, AxisOf(*a.Int("dim1"), *dims));
  Dims order;
  for (size_t i = 0; i < dims->size(); ++i) order.push_back(static_cast<int64_t>(i));
  if (!order.empty()) std::swap(order[first], order[second]);
  return writer.Node("Transpose", {writer.Input(0)}, {{"perm", order}});
}

absl::StatusOr<Types> InferMatrixTranspose(const OpCall& call) {
  LANISTA_RETURN_IF_ERROR(ExpectRank(AtenArguments(call).Type("self"), {0, 1, 2}));
  auto dims = graph::DimsOf(AtenArguments(call).Type("self"));
  if (!dims.has_value()) return UnknownShape(call);
  if (dims->size() == 2) std::swap((*dims)[0], (*dims)[1]);
  return Shaped(call, *dims);
}

absl::StatusOr<Names> MatrixTransposeToOnnx(const OpCall& call, OnnxWriter& writer) {
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], 2));
  return writer.Node("Transpose", {writer.Input(0)}, {{"perm", Dims{1, 0}}});
}

absl::StatusOr<Types> InferPixelShuffle(const OpCall& call) {
  const AtenArguments a(call);
  auto dims = graph::DimsOf(a.Type("self"));
  const auto factor = a.Int("upscale_factor");
  if (!dims.has_value() || !factor.has_value()) return UnknownShape(call);
  const size_t rank = dims->size();
  int64_t square = 0;
  if (*factor < 1 || __builtin_mul_overflow(*factor, *factor, &square) || rank < 3 ||
      ((*dims)[rank - 3] >= 0 && (*dims)[rank - 3] % square != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot shuffle pixels of ", graph::TypeToText(call.inputs[0]), " by a factor of ", *factor));
  }
  if ((*dims)[rank - 3] > 0) (*dims)[rank - 3] /= square;
  for (const size_t axis : {rank - 2, rank - 1}) {
    if ((*dims)[axis] > 0) (*dims)[axis] *= *factor;
  }
  return Shaped(call, *dims);
}

absl::StatusOr<Names> PixelShuffleToOnnx(const OpCall& call, OnnxWriter& writer) {
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], 4));
  const auto factor = AtenArguments(call).Int("upscale_factor");
  if (!factor.has_value()) return OnnxNeeds("the factor");
  return writer.Node("DepthToSpace", {writer.Input(0)}, {{"blocksize", *factor}, {"mode", std::string("CRD")}});
}

LANISTA_REGISTER_OP(MakeAten(View("view", "size")));
LANISTA_REGISTER_OP(MakeAten(View("reshape", "shape")));
LANISTA_REGISTER_OP(MakeAten(Flatten()));
LANISTA_REGISTER_OP(MakeAten(Move(Method("unsqueeze", "self, dim", InferUnsqueeze, UnsqueezeToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("unsqueeze_", "self, dim", InferUnsqueeze, UnsqueezeToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("squeeze.dim", "self, dim", InferSqueeze, SqueezeToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("squeeze", "self", InferSqueezeAll, AsTyped))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("permute", "self, dims", InferPermute, PermuteToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("transpose.int", "self, dim0, dim1", InferTranspose, TransposeToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Method("t", "self", InferMatrixTranspose, MatrixTransposeToOnnx))));
LANISTA_REGISTER_OP(MakeAten(Move(Function("pixel_shuffle", "self, upscale_factor", InferPixelShuffle,
                                           PixelShuffleToOnnx))));

}  // namespace
}  // namespace lanista::ops
