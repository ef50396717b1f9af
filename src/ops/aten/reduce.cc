// Aten operators that reduce dimensions.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

// The dtype of the result.
enum class Element {
  kSame,
  // Integers and booleans give INT64.
  kSum,
  kIndex,
};

v1::Tensor::DataType ElementOf(const OpCall& call, Element element) {
  const AtenArguments a(call);
  const v1::Tensor::DataType own = UnknownShape(call)[0].data_type();
  if (element == Element::kIndex) return v1::Tensor::INT64;
  const bool widens = element == Element::kSum && (IsInteger(own) || own == v1::Tensor::BOOL);
  return a.DataType("dtype", widens ? v1::Tensor::INT64 : own);
}

// The reduced dimensions, counted from the front; nullopt: unknown. None or an empty list means all dimensions.
absl::StatusOr<std::optional<Dims>> AxesOf(const OpCall& call, const Dims& dims) {
  const AtenArguments a(call);
  Dims axes;
  if (!a.IsNone("dim")) {
    const auto given = a.Ints("dim");
    if (!given.has_value()) return std::optional<Dims>();
    for (const int64_t dim : *given) {
      LANISTA_ASSIGN_OR_RETURN(axes.emplace_back(), AxisOf(dim, dims));
    }
  }
  if (axes.empty()) {
    for (size_t i = 0; i < dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  }
  std::sort(axes.begin(), axes.end());
  if (std::adjacent_find(axes.begin(), axes.end()) == axes.end()) return std::make_optional(axes);
  return absl::InvalidArgumentError("a dimension is named twice");
}

InferFunction Reduce(Element element, bool with_indices = false) {
  return [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    Types types = {graph::TensorType(ElementOf(call, element))};
    const auto dims = graph::DimsOf(a.Type("self"));
    const auto keep = call.attributes.Get("keepdim").has_b() ? a.Bool("keepdim") : std::make_optional(false);
    const bool keep_known = a.Edge("keepdim") < 0;
    if (dims.has_value() && keep_known) {
      LANISTA_ASSIGN_OR_RETURN(const std::optional<Dims> axes, AxesOf(call, *dims));
      if (axes.has_value()) {
        Dims result;
        for (size_t i = 0; i < dims->size(); ++i) {
          const bool gone = std::find(axes->begin(), axes->end(), static_cast<int64_t>(i)) != axes->end();
          if (!gone) result.push_back((*dims)[i]);
          if (gone && keep == true) result.push_back(1);
        }
        types = {graph::TensorType(types[0].data_type(), result)};
      }
    }
    if (with_indices) {
      types.push_back(types[0]);
      types[1].set_data_type(v1::Tensor::INT64);
    }
    return types;
  };
}

std::optional<double> InputFlops(const OpCall& call, const Types&) { return CountElements(call.inputs[0]); }

absl::StatusOr<Names> ReduceToOnnx(const OpCall& call, OnnxWriter& writer, const std::string& type) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(call.inputs[0]);
  if (!dims.has_value()) return OnnxNeeds("the rank");
  if (!call.outputs.empty() && call.outputs[0].data_type() != call.inputs[0].data_type()) {
    return absl::UnimplementedError("a reduction to another type is not written as ONNX");
  }
  LANISTA_ASSIGN_OR_RETURN(const std::optional<Dims> axes, AxesOf(call, *dims));
  if (!axes.has_value() || a.Edge("keepdim") >= 0) return OnnxNeeds("the dimensions");
  const int64_t keep = a.Bool("keepdim").value_or(false) ? 1 : 0;
  if (axes->empty()) return writer.Node("Identity", {writer.Input(0)});
  // In opset 13, only ReduceSum takes its axes as an input.
  if (type == "ReduceSum") {
    return writer.Node(type, {writer.Input(0), OnnxInts(writer, *axes)}, {{"keepdims", keep}});
  }
  return writer.Node(type, {writer.Input(0)}, {{"axes", *axes}, {"keepdims", keep}});
}

AtenSpec Reduction(const std::string& type, const std::string& arguments, const std::string& onnx, Element element) {
  AtenSpec spec = Function(type, arguments, Reduce(element),
                           [onnx](const OpCall& call, OnnxWriter& writer) { return ReduceToOnnx(call, writer, onnx); });
  spec.flops = InputFlops;
  return spec;
}

// The largest or smallest elements along a dimension, and their indices.
AtenSpec WithIndices(const std::string& type, const std::string& onnx, const std::string& indices) {
  AtenSpec spec = Function(type, "self, dim, keepdim=False", Reduce(Element::kSame, true));
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    LANISTA_ASSIGN_OR_RETURN(Names names, ReduceToOnnx(call, writer, onnx));
    const AtenArguments a(call);
    if (!a.Int("dim").has_value()) return OnnxNeeds("the dimension");
    const int64_t keep = a.Bool("keepdim").value_or(false) ? 1 : 0;
    names.push_back(writer.Node(indices, {writer.Input(0)}, {{"axis", *a.Int("dim")}, {"keepdims", keep}})[0]);
    return names;
  };
  spec.flops = InputFlops;
  spec.outputs = 2;
  return spec;
}

AtenSpec Place(const std::string& type, const std::string& onnx) {
  AtenSpec spec = Function(type, "self, dim=None, keepdim=False", Reduce(Element::kIndex));
  spec.onnx = [onnx](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    const AtenArguments a(call);
    if (!a.Int("dim").has_value()) return absl::UnimplementedError("a place among all elements is not written as ONNX");
    const int64_t keep = a.Bool("keepdim").value_or(false) ? 1 : 0;
    return writer.Node(onnx, {writer.Input(0)}, {{"axis", *a.Int("dim")}, {"keepdims", keep}});
  };
  spec.flops = InputFlops;
  return spec;
}

absl::StatusOr<Types> InferCumSum(const OpCall& call) {
  const AtenArguments a(call);
  const auto dims = graph::DimsOf(a.Type("self"));
  const v1::Tensor::DataType type = ElementOf(call, Element::kSum);
  if (!dims.has_value()) return Types{graph::TensorType(type)};
  if (a.Int("dim").has_value()) LANISTA_RETURN_IF_ERROR(AxisOf(*a.Int("dim"), *dims).status());
  return Types{graph::TensorType(type, *dims)};
}

constexpr char kDimKeepType[] = "self, dim, keepdim=False, *, dtype=None";

LANISTA_REGISTER_OP(MakeAten(Reduction("mean", "self, *, dtype=None", "ReduceMean", Element::kSame)));
LANISTA_REGISTER_OP(MakeAten(Reduction("mean.dim", kDimKeepType, "ReduceMean", Element::kSame)));
LANISTA_REGISTER_OP(MakeAten(Reduction("sum", "self, *, dtype=None", "ReduceSum", Element::kSum)));
LANISTA_REGISTER_OP(MakeAten(Reduction("sum.dim_IntList", kDimKeepType, "ReduceSum", Element::kSum)));
LANISTA_REGISTER_OP(MakeAten(Reduction("amax", "self, dim=[], keepdim=False", "ReduceMax", Element::kSame)));
LANISTA_REGISTER_OP(MakeAten(Reduction("amin", "self, dim=[], keepdim=False", "ReduceMin", Element::kSame)));
LANISTA_REGISTER_OP(MakeAten(Reduction("max", "self", "ReduceMax", Element::kSame)));
LANISTA_REGISTER_OP(MakeAten(Reduction("min", "self", "ReduceMin", Element::kSame)));
LANISTA_REGISTER_OP(MakeAten(WithIndices("max.dim", "ReduceMax", "ArgMax")));
LANISTA_REGISTER_OP(MakeAten(WithIndices("min.dim", "ReduceMin", "ArgMin")));
LANISTA_REGISTER_OP(MakeAten(Place("argmax", "ArgMax")));
LANISTA_REGISTER_OP(MakeAten(Place("argmin", "ArgMin")));
LANISTA_REGISTER_OP(MakeAten(Function("cumsum", "self, dim, *, dtype=None", InferCumSum)));

}  // namespace
}  // namespace lanista::ops
