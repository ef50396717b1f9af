// Pooling over windows, and adaptive pooling.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/base/source_literals.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

using Names = std::vector<std::string>;

// `types` holds the pooled values; return_indices adds their indices, INT64 in the same shape.
absl::StatusOr<Types> WithIndices(const Attributes& a, absl::StatusOr<Types> types) {
  if (!types.ok() || !a.Bool("return_indices")) return types;
  types->push_back(types->front());
  types->back().set_data_type(v1::Tensor::INT64);
  return types;
}

int CountWithIndices(const Attributes& a) { return a.Bool("return_indices") ? 2 : 1; }

// Leaves out return_indices: LibTorch's module has no such option, and calls use its method forward_with_indices
// instead.
absl::StatusOr<std::string> CppWithoutIndices(const std::string& type, const std::vector<AttributeSpec>& specs,
                                              const Attributes& a) {
  std::vector<AttributeSpec> plain;
  for (const AttributeSpec& spec : specs) {
    if (spec.name != "return_indices") plain.push_back(spec);
  }
  return CppOptions(type, plain, a);
}

absl::StatusOr<std::string> CppPoolForward(const Attributes& a, const v1::Node&, const std::string& module,
                                           const Names& inputs) {
  const char* const method = a.Bool("return_indices") ? "->forward_with_indices(" : "->forward(";
  return absl::StrCat(module, method, absl::StrJoin(inputs, ", "), ")");
}

Dims StrideOf(const Attributes& a) { return a.Has("stride") ? a.Ints("stride") : a.Ints("kernel_size"); }

enum class PoolKind { kMax, kAverage, kPower };

absl::StatusOr<Types> InferPool(const OpCall& call, int dims, PoolKind kind) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {dims + 1, dims + 2}));
  auto sizes = graph::DimsOf(input);
  if (!sizes.has_value()) return Types{graph::TensorType(input.data_type())};
  const Dims kernel = a.Ints("kernel_size"), stride = StrideOf(a);
  const Dims padding = kind == PoolKind::kPower ? Dims(dims, 0) : a.Ints("padding");
  const Dims dilation = kind == PoolKind::kMax ? a.Ints("dilation") : Dims(dims, 1);
  for (int i = 0; i < dims; ++i) {
    int64_t& size = (*sizes)[sizes->size() - dims + i];
    if (size < 0) continue;
    const int64_t input_size = size;
    size = SlidingSize(size, kernel[i], stride[i], padding[i], dilation[i], a.Bool("ceil_mode"));
    if (size < 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("a window of ", kernel[i], " does not fit into ", input_size, " in ", graph::TypeToText(input)));
    }
  }
  return Types{graph::TensorType(input.data_type(), *sizes)};
}

absl::Status CheckWindow(const Attributes& a) {
  const Dims kernel = a.Ints("kernel_size"), stride = StrideOf(a);
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (kernel[i] < 1 || stride[i] < 1) return absl::InvalidArgumentError("kernel_size and stride must be at least 1");
  }
  return absl::OkStatus();
}

absl::Status CheckPool(const Attributes& a) {
  LANISTA_RETURN_IF_ERROR(CheckWindow(a));
  const Dims kernel = a.Ints("kernel_size"), padding = a.Ints("padding");
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (padding[i] < 0 || padding[i] > kernel[i] / 2) {
      return absl::InvalidArgumentError("padding must be from 0 to half of kernel_size");
    }
  }
  return absl::OkStatus();
}

std::optional<double> PoolFlops(const OpCall& call, const Types& outputs) {
  const auto elements = CountElements(outputs[0]);
  if (!elements.has_value()) return std::nullopt;
  double window = 1;
  for (const int64_t size : call.attributes.Ints("kernel_size")) window *= static_cast<double>(size);
  return window * *elements;
}

absl::StatusOr<Names> PoolToOnnx(const OpCall& call, OnnxWriter& writer, int dims, bool max) {
  const Attributes& a = call.attributes;
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], dims + 2));
  // ONNX numbers the elements through the whole batch.
  if (a.Bool("return_indices")) return absl::UnimplementedError("return_indices has no counterpart in ONNX");
  const Dims padding = a.Ints("padding");
  Dims pads(padding);
  pads.insert(pads.end(), padding.begin(), padding.end());
  std::vector<OnnxAttribute> attributes = {{"kernel_shape", a.Ints("kernel_size")},
                                           {"strides", StrideOf(a)},
                                           {"pads", pads},
                                           {"ceil_mode", int64_t{a.Bool("ceil_mode")}}};
  if (max) {
    attributes.push_back({"dilations", a.Ints("dilation")});
  } else {
    if (a.Has("divisor_override")) {
      return absl::UnimplementedError("divisor_override has no counterpart in ONNX");
    }
    attributes.push_back({"count_include_pad", int64_t{a.Bool("count_include_pad")}});
  }
  return writer.Node(max ? "MaxPool" : "AveragePool", {writer.Input(0)}, attributes);
}

absl::StatusOr<std::string> MaxPoolToScript(const ScriptCall& call, int dims) {
  return ScriptReturn(absl::Substitute("torch.max_pool$0d$1(input, $2, $3, $4, $5, $6)", dims,
                                       call.a.Bool("return_indices") ? "_with_indices" : "", call.Ints("kernel_size"),
                                       ScriptInts(StrideOf(call.a)), call.Ints("padding"), call.Ints("dilation"),
                                       call.Bool("ceil_mode")));
}

absl::StatusOr<std::string> AveragePoolToScript(const ScriptCall& call, int dims) {
  std::string divisor;
  if (dims > 1) divisor = call.a.Has("divisor_override") ? ", " + call.Int("divisor_override") : ", None";
  return ScriptReturn(absl::Substitute("torch.avg_pool$0d(input, $1, $2, $3, $4, $5$6)", dims, call.Ints("kernel_size"),
                                       ScriptInts(StrideOf(call.a)), call.Ints("padding"), call.Bool("ceil_mode"),
                                       call.Bool("count_include_pad"), divisor));
}

absl::StatusOr<std::string> PowerPoolToScript(const ScriptCall& call, int dims) {
  int64_t elements = 1;
  for (const int64_t size : call.a.Ints("kernel_size")) elements *= size;
  return absl::Substitute(
      "out = torch.avg_pool$0d(torch.pow(input, $1), $2, $3, $4, $5)\n"
      "  return torch.pow(torch.mul(torch.mul(torch.sign(out), torch.relu(torch.abs(out))), $6), $7)",
      dims, call.Float("norm_type"), call.Ints("kernel_size"), ScriptInts(StrideOf(call.a)), ScriptInts(Dims(dims, 0)),
      call.Bool("ceil_mode"), elements, PythonFloatLiteral(1.0 / call.a.Float("norm_type")));
}

ModuleSpec Pool(int dims, bool max) {
  ModuleSpec spec;
  spec.type = absl::StrCat(max ? "MaxPool" : "AvgPool", dims, "d");
  spec.attributes = {Required("kernel_size", AttributeKind::kInts, dims),
                     Optional("stride", AttributeKind::kInts, dims), IntsWithDefault("padding", dims, 0)};
  if (max) {
    spec.attributes.push_back(IntsWithDefault("dilation", dims, 1));
    spec.attributes.push_back(WithDefault("return_indices", false));
    spec.attributes.push_back(WithDefault("ceil_mode", false));
  } else {
    spec.attributes.push_back(WithDefault("ceil_mode", false));
    spec.attributes.push_back(WithDefault("count_include_pad", true));
    if (dims > 1) spec.attributes.push_back(Optional("divisor_override", AttributeKind::kInt));
  }
  spec.infer = [=](const OpCall& call) {
    return WithIndices(call.attributes, InferPool(call, dims, max ? PoolKind::kMax : PoolKind::kAverage));
  };
  spec.count_outputs = CountWithIndices;
  spec.calls.cpp_forward = CppPoolForward;
  spec.flops = PoolFlops;
  spec.check = CheckPool;
  spec.cpp = [type = spec.type, specs = spec.attributes](const Attributes& a) {
    return CppWithoutIndices(type, specs, a);
  };
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) { return PoolToOnnx(call, writer, dims, max); };
  spec.torchscript = {"pooling", [=](const ScriptCall& call) {
                        return max ? MaxPoolToScript(call, dims) : AveragePoolToScript(call, dims);
                      }};
  return spec;
}

// (sum of x^p)^(1/p)
ModuleSpec PowerPool(int dims) {
  ModuleSpec spec;
  spec.type = absl::StrCat("LPPool", dims, "d");
  spec.attributes = {Required("norm_type", AttributeKind::kFloat), Required("kernel_size", AttributeKind::kInts, dims),
                     Optional("stride", AttributeKind::kInts, dims), WithDefault("ceil_mode", false)};
  spec.infer = [=](const OpCall& call) { return InferPool(call, dims, PoolKind::kPower); };
  // A power and a sum for each element of a window.
  spec.flops = [](const OpCall& call, const Types& outputs) -> std::optional<double> {
    const auto windows = PoolFlops(call, outputs);
    return windows.has_value() ? std::make_optional(2 * *windows) : std::nullopt;
  };
  spec.check = [](const Attributes& a) -> absl::Status {
    if (a.Float("norm_type") == 0) return absl::InvalidArgumentError("norm_type must not be 0");
    return CheckWindow(a);
  };
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) -> absl::StatusOr<Names> {
    LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], dims + 2));
    const double p = call.attributes.Float("norm_type");
    // ONNX takes absolute values first; PyTorch does not.
    if (p != 2 && p != 4)
      return absl::UnimplementedError(absl::StrCat("a norm_type of ", p, " is not written as ONNX"));
    if (call.attributes.Bool("ceil_mode")) return absl::UnimplementedError("ceil_mode has no counterpart in ONNX");
    return writer.Node("LpPool", {writer.Input(0)},
                       {{"kernel_shape", call.attributes.Ints("kernel_size")},
                        {"strides", StrideOf(call.attributes)},
                        {"p", static_cast<int64_t>(p)}});
  };
  spec.torchscript = {"pooling", [dims](const ScriptCall& call) { return PowerPoolToScript(call, dims); }};
  return spec;
}

// output_size: for each dimension an int, or none to keep the input's size.
Dims OutputSize(const Attributes& a, int dims, const Dims& input) {
  const v1::Value& value = a.Get("output_size");
  Dims sizes;
  for (int i = 0; i < dims; ++i) {
    const v1::Value& one = value.has_list() ? value.list().values(i) : value;
    sizes.push_back(one.has_i() ? one.i() : input[input.size() - dims + i]);
  }
  return sizes;
}

absl::StatusOr<Types> InferAdaptive(const OpCall& call, int dims) {
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {dims + 1, dims + 2}));
  auto sizes = graph::DimsOf(input);
  if (!sizes.has_value()) return Types{graph::TensorType(input.data_type())};
  const Dims wanted = OutputSize(call.attributes, dims, *sizes);
  std::copy(wanted.begin(), wanted.end(), sizes->end() - dims);
  return Types{graph::TensorType(input.data_type(), *sizes)};
}

absl::Status CheckAdaptive(const Attributes& a, int dims) {
  const v1::Value& value = a.Get("output_size");
  const auto fits = [](const v1::Value& one) {
    return one.kind_case() == v1::Value::KIND_NOT_SET || (one.has_i() && one.i() > 0);
  };
  const bool list = value.has_list() && value.list().values_size() == dims &&
                    std::all_of(value.list().values().begin(), value.list().values().end(), fits);
  if (list || (!value.has_list() && fits(value))) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output_size must be a positive integer, or a list of ", dims, " of them or none"));
}

absl::StatusOr<Names> AdaptiveToOnnx(const OpCall& call, OnnxWriter& writer, int dims, bool max) {
  if (call.attributes.Bool("return_indices")) {
    return absl::UnimplementedError("return_indices has no counterpart in ONNX");
  }
  LANISTA_RETURN_IF_ERROR(OnnxNeedsRank(call.inputs[0], dims + 2));
  const auto sizes = graph::DimsOf(call.inputs[0]);
  const Dims unknown(dims + 2, -1);
  const Dims& input = sizes.has_value() ? *sizes : unknown;
  const Dims wanted = OutputSize(call.attributes, dims, input);
  const std::string op_type = max ? "MaxPool" : "AveragePool";
  if (std::all_of(wanted.begin(), wanted.end(), [](int64_t size) { return size == 1; })) {
    return writer.Node("Global" + op_type, {writer.Input(0)});
  }
  Dims kernel;
  for (int i = 0; i < dims; ++i) {
    const int64_t size = input[input.size() - dims + i];
    if (size < 1 || wanted[i] < 1 || size % wanted[i] != 0) {
      return absl::UnimplementedError(absl::StrCat("adaptive pooling from [", absl::StrJoin(input, ", "), "] to ",
                                                   absl::StrJoin(wanted, " x "), " has no counterpart in ONNX"));
    }
    kernel.push_back(size / wanted[i]);
  }
  return writer.Node(op_type, {writer.Input(0)}, {{"kernel_shape", kernel}, {"strides", kernel}});
}

absl::StatusOr<std::string> AdaptivePoolToScript(const ScriptCall& call, int dims, bool max) {
  const v1::Value& value = call.a.Get("output_size");
  std::vector<std::string> sizes;
  for (int i = 0; i < dims; ++i) {
    const v1::Value& size = value.has_list() ? value.list().values(i) : value;
    sizes.push_back(size.has_i() ? absl::StrCat(size.i()) : absl::StrCat("input.size(", i - dims, ")"));
  }
  // The maximum comes with its indices.
  const bool first = max && !call.a.Bool("return_indices");
  return ScriptReturn(absl::StrCat("torch.adaptive_", max ? "max" : "avg", "_pool", dims, "d(input, [",
                                   absl::StrJoin(sizes, ", "), "])", first ? "[0]" : ""));
}

ModuleSpec AdaptivePool(int dims, bool max) {
  ModuleSpec spec;
  spec.type = absl::StrCat(max ? "AdaptiveMaxPool" : "AdaptiveAvgPool", dims, "d");
  spec.attributes = {Required("output_size", AttributeKind::kAny)};
  if (max) spec.attributes.push_back(WithDefault("return_indices", false));
  spec.infer = [=](const OpCall& call) { return WithIndices(call.attributes, InferAdaptive(call, dims)); };
  spec.count_outputs = CountWithIndices;
  spec.calls.cpp_forward = CppPoolForward;
  // Each element of the input is read once.
  spec.flops = [](const OpCall& call, const Types&) { return CountElements(call.inputs[0]); };
  spec.check = [=](const Attributes& a) { return CheckAdaptive(a, dims); };
  spec.cpp = [=, type = spec.type](const Attributes& a) -> absl::StatusOr<std::string> {
    const v1::Value& value = a.Get("output_size");
    std::vector<std::string> parts;
    for (int i = 0; i < dims; ++i) {
      const v1::Value& one = value.has_list() ? value.list().values(i) : value;
      parts.push_back(one.has_i() ? absl::StrCat(one.i()) : "torch::nullopt");
    }
    const bool equal = std::all_of(parts.begin(), parts.end(), [&](const std::string& p) { return p == parts[0]; });
    const std::string size = equal && parts[0] != "torch::nullopt" ? parts[0] : "{" + absl::StrJoin(parts, ", ") + "}";
    return absl::StrCat("torch::nn::", type, "(torch::nn::", type, "Options(", size, "))");
  };
  spec.onnx = [=](const OpCall& call, OnnxWriter& writer) { return AdaptiveToOnnx(call, writer, dims, max); };
  spec.torchscript = {"pooling", [=](const ScriptCall& call) { return AdaptivePoolToScript(call, dims, max); }};
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Pool(1, true)));
LANISTA_REGISTER_OP(MakeModule(Pool(2, true)));
LANISTA_REGISTER_OP(MakeModule(Pool(3, true)));
LANISTA_REGISTER_OP(MakeModule(Pool(1, false)));
LANISTA_REGISTER_OP(MakeModule(Pool(2, false)));
LANISTA_REGISTER_OP(MakeModule(Pool(3, false)));
LANISTA_REGISTER_OP(MakeModule(PowerPool(1)));
LANISTA_REGISTER_OP(MakeModule(PowerPool(2)));
LANISTA_REGISTER_OP(MakeModule(AdaptivePool(1, true)));
LANISTA_REGISTER_OP(MakeModule(AdaptivePool(2, true)));
LANISTA_REGISTER_OP(MakeModule(AdaptivePool(3, true)));
LANISTA_REGISTER_OP(MakeModule(AdaptivePool(1, false)));
LANISTA_REGISTER_OP(MakeModule(AdaptivePool(2, false)));
LANISTA_REGISTER_OP(MakeModule(AdaptivePool(3, false)));

}  // namespace
}  // namespace lanista::ops
