// Aten operators that pool.
#include <algorithm>
#include <initializer_list>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/aten/schema.h"

namespace lanista::ops {
namespace {

struct Window {
  Dims kernel, stride, padding, dilation;
  bool ceil = false;
};

// nullopt: unknown.
absl::StatusOr<std::optional<Window>> WindowOf(const OpCall& call, size_t rank) {
  const AtenArguments a(call);
  const auto kernel = a.Ints("kernel_size", rank), padding = a.Ints("padding", rank);
  auto stride = a.Ints("stride", rank);
  if (stride.has_value() && stride->empty()) stride = kernel;
  const bool dilates = std::any_of(call.node.op().attr().begin(), call.node.op().attr().end(),
                                   [](const v1::Attribute& attribute) { return attribute.key() == "dilation"; }) ||
                       a.Edge("dilation") >= 0;
  const auto dilation = dilates ? a.Ints("dilation", rank) : std::make_optional(Dims(rank, 1));
  if (!kernel.has_value() || !stride.has_value() || !padding.has_value() || !dilation.has_value() ||
      !a.Bool("ceil_mode").has_value()) {
    return std::optional<Window>();
  }
  for (const Dims* const sizes : std::initializer_list<const Dims*>{&*kernel, &*stride, &*dilation}) {
    if (sizes->size() == rank && *std::min_element(sizes->begin(), sizes->end()) >= 1) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("kernel_size, stride and dilation must be ", rank, " positive integers"));
  }
  if (padding->size() != rank || *std::min_element(padding->begin(), padding->end()) < 0) {
    return absl::InvalidArgumentError(absl::StrCat("padding must be ", rank, " integers from 0"));
  }
  return std::make_optional(Window{*kernel, *stride, *padding, *dilation, *a.Bool("ceil_mode")});
}

InferFunction InferPool(size_t rank) {
  return [rank](const OpCall& call) -> absl::StatusOr<Types> {
    const v1::ValueType input = AtenArguments(call).Type("self");
    LANISTA_RETURN_IF_ERROR(ExpectRank(input, {static_cast<int>(rank) + 1, static_cast<int>(rank) + 2}));
    auto dims = graph::DimsOf(input);
    if (!dims.has_value()) return UnknownShape(call);
    LANISTA_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(call, rank));
    for (size_t i = 0; i < rank; ++i) {
      int64_t& size = (*dims)[dims->size() - rank + i];
      if (!window.has_value() || size < 0) {
        size = -1;
        continue;
      }
      size = SlidingSize(size, window->kernel[i], window->stride[i], window->padding[i], window->dilation[i],
                         window->ceil);
      if (size < 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("a window of ", window->kernel[i], " does not fit into ", graph::TypeToText(input)));
      }
    }
    return Shaped(call, *dims);
  };
}

OnnxFunction PoolToOnnx(size_t rank, bool max) {
  return [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], static_cast<int>(rank) + 2));
    LANISTA_ASSIGN_OR_RETURN(const std::optional<Window> window, WindowOf(call, rank));
    if (!window.has_value()) return OnnxNeeds("the window");
    Dims pads = window->padding;
    pads.insert(pads.end(), window->padding.begin(), window->padding.end());
    std::vector<OnnxAttribute> attributes = {{"kernel_shape", window->kernel},
                                             {"strides", window->stride},
                                             {"pads", pads},
                                             {"ceil_mode", int64_t{window->ceil}}};
    const AtenArguments a(call);
    if (max) {
      attributes.push_back({"dilations", window->dilation});
    } else {
      if (call.attributes.Has("divisor_override") || a.Edge("divisor_override") >= 0) {
        return absl::UnimplementedError("divisor_override is not written as ONNX");
      }
      const bool padded = std::any_of(pads.begin(), pads.end(), [](int64_t pad) { return pad > 0; });
      // ONNX runtimes disagree about a partial last window.
      if (window->ceil && padded) return absl::UnimplementedError("ceil_mode with padding is not written as ONNX");
      attributes.push_back({"count_include_pad", int64_t{a.Bool("count_include_pad").value_or(true)}});
    }
    return writer.Node(max ? "MaxPool" : "AveragePool", {writer.Input(0)}, attributes);
  };
}

// A comparison or a sum for each element of the window.
std::optional<double> WindowFlops(const OpCall& call, const Types& outputs) {
  const auto kernel = AtenArguments(call).Ints("kernel_size", 1);
  const auto elements = CountElements(outputs[0]);
  if (!kernel.has_value() || !elements.has_value()) return std::nullopt;
  double window = 1;
  for (const int64_t size : *kernel) window *= static_cast<double>(size);
  return window * *elements;
}

AtenSpec MaxPool(size_t rank) {
  const std::string name = absl::StrCat("max_pool", rank, "d");
  AtenSpec spec = Function(name, "self, kernel_size, stride=[], padding=0, dilation=1, ceil_mode=False",
                           InferPool(rank), PoolToOnnx(rank, true));
  spec.flops = WindowFlops;
  return spec;
}

AtenSpec AvgPool(size_t rank) {
  const std::string name = absl::StrCat("avg_pool", rank, "d");
  AtenSpec spec = Function(name,
                           absl::StrCat("self, kernel_size, stride=[], padding=0, ceil_mode=False, "
                                        "count_include_pad=True",
                                        rank > 1 ? ", divisor_override=None" : ""),
                           InferPool(rank), PoolToOnnx(rank, false));
  spec.python_function = "F." + name;
  spec.flops = WindowFlops;
  return spec;
}

AtenSpec Adaptive(const std::string& name, size_t rank, bool max) {
  AtenSpec spec = Function(name, "self, output_size", [=](const OpCall& call) -> absl::StatusOr<Types> {
    const AtenArguments a(call);
    LANISTA_RETURN_IF_ERROR(ExpectRank(a.Type("self"), {static_cast<int>(rank) + 1, static_cast<int>(rank) + 2}));
    auto dims = graph::DimsOf(a.Type("self"));
    const auto size = a.Ints("output_size", rank);
    Types types = UnknownShape(call);
    if (size.has_value() && (size->size() != rank || !AllKnown(*size))) {
      return absl::InvalidArgumentError(absl::StrCat("output_size must be ", rank, " integers"));
    }
    if (dims.has_value()) {
      const Dims wanted = size.value_or(Dims(rank, -1));
      std::copy(wanted.begin(), wanted.end(), dims->end() - static_cast<int64_t>(rank));
      types = Shaped(call, *dims);
    }
    if (max) {
      types.push_back(types[0]);
      types[1].set_data_type(v1::Tensor::INT64);
    }
    return types;
  });
  spec.python_function = "F." + name + (max ? "_with_indices" : "");
  spec.flops = [](const OpCall& call, const Types&) { return CountElements(call.inputs[0]); };
  spec.outputs = max ? 2 : 1;
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], static_cast<int>(rank) + 2));
    const auto size = AtenArguments(call).Ints("output_size", rank);
    if (max || !size.has_value()) return absl::UnimplementedError("this adaptive pooling is not written as ONNX");
    if (*size == Dims(rank, 1)) return writer.Node("GlobalAveragePool", {writer.Input(0)});
    // Written as pooling with a fixed window if all windows have the same size.
    const auto dims = graph::DimsOf(call.inputs[0]);
    Dims kernel;
    for (size_t i = 0; i < rank; ++i) {
      const int64_t from = dims.has_value() ? (*dims)[i + 2] : -1;
      if (from < 0 || (*size)[i] < 1 || from % (*size)[i] != 0) {
        return absl::UnimplementedError("adaptive pooling to a size that does not divide the input's has no ONNX form");
      }
      kernel.push_back(from / (*size)[i]);
    }
    return writer.Node("AveragePool", {writer.Input(0)}, {{"kernel_shape", kernel}, {"strides", kernel}});
  };
  return spec;
}

LANISTA_REGISTER_OP(MakeAten(MaxPool(1)));
LANISTA_REGISTER_OP(MakeAten(MaxPool(2)));
LANISTA_REGISTER_OP(MakeAten(AvgPool(1)));
LANISTA_REGISTER_OP(MakeAten(AvgPool(2)));
LANISTA_REGISTER_OP(MakeAten(Adaptive("adaptive_avg_pool1d", 1, false)));
LANISTA_REGISTER_OP(MakeAten(Adaptive("adaptive_avg_pool2d", 2, false)));
LANISTA_REGISTER_OP(MakeAten(Adaptive("adaptive_max_pool2d", 2, true)));

}  // namespace
}  // namespace lanista::ops
