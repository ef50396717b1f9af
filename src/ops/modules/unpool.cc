// The inverse of max pooling, and max pooling over random windows.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/ops/module_schema.h"
#include "src/ops/registry.h"

namespace lanista::ops {
namespace {

absl::StatusOr<Types> InferUnpool(const OpCall& call, int dims) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {dims + 1, dims + 2}));
  auto sizes = graph::DimsOf(input);
  const auto indices = graph::DimsOf(call.inputs[1]);
  if (!sizes.has_value()) return Types{graph::TensorType(input.data_type())};
  if (indices.has_value()) {
    bool same = sizes->size() == indices->size();
    for (size_t i = 0; same && i < sizes->size(); ++i) {
      same = (*sizes)[i] == (*indices)[i] || (*sizes)[i] < 0 || (*indices)[i] < 0;
    }
    if (!same) {
      return absl::InvalidArgumentError(absl::StrCat("expects an index for each element of ", graph::TypeToText(input),
                                                     ", gets ", graph::TypeToText(call.inputs[1])));
    }
  }
  const Dims kernel = a.Ints("kernel_size"), padding = a.Ints("padding");
  const Dims stride = a.Ints(a.Has("stride") ? "stride" : "kernel_size");
  for (int i = 0; i < dims; ++i) {
    int64_t& size = (*sizes)[sizes->size() - dims + i];
    if (size < 0) continue;
    const int64_t input_size = size;
    size = (size - 1) * stride[i] - 2 * padding[i] + kernel[i];
    if (size < 1) {
      return absl::InvalidArgumentError(absl::StrCat("a padding of ", padding[i], " leaves nothing of ", input_size,
                                                     " in ", graph::TypeToText(input)));
    }
  }
  return Types{graph::TensorType(input.data_type(), *sizes)};
}

// forward(input, indices); the indices come from a MaxPool with return_indices. The optional output_size of PyTorch's
// forward is not supported.
ModuleSpec Unpool(int dims) {
  ModuleSpec spec{absl::StrCat("MaxUnpool", dims, "d"),
                  {Required("kernel_size", AttributeKind::kInts, dims), Optional("stride", AttributeKind::kInts, dims),
                   IntsWithDefault("padding", dims, 0)}};
  spec.infer = [dims](const OpCall& call) { return InferUnpool(call, dims); };
  spec.flops = NoFlops;
  spec.check = [](const Attributes& a) -> absl::Status {
    LANISTA_RETURN_IF_ERROR(ExpectAtLeast(a, {"kernel_size"}, 1));
    if (a.Has("stride")) LANISTA_RETURN_IF_ERROR(ExpectAtLeast(a, {"stride"}, 1));
    return ExpectAtLeast(a, {"padding"}, 0);
  };
  spec.min_inputs = spec.max_inputs = 2;
  return spec;
}

// The output size in dimension `i` for an input of this size.
int64_t FractionalSize(const Attributes& a, int i, int64_t input) {
  if (a.Has("output_size")) return a.Ints("output_size")[i];
  const v1::Value& ratio = a.Get("output_ratio");
  const v1::Value& own = ratio.has_list() ? ratio.list().values(i) : ratio;
  return input < 0 ? -1 : static_cast<int64_t>(std::floor(static_cast<double>(input) * own.f()));
}

absl::StatusOr<Types> InferFractional(const OpCall& call, int dims) {
  const Attributes& a = call.attributes;
  const v1::ValueType& input = call.inputs[0];
  LANISTA_RETURN_IF_ERROR(ExpectRank(input, {dims + 1, dims + 2}));
  Types types = {graph::TensorType(input.data_type())};
  if (auto sizes = graph::DimsOf(input); sizes.has_value()) {
    const Dims kernel = a.Ints("kernel_size");
    for (int i = 0; i < dims; ++i) {
      int64_t& size = (*sizes)[sizes->size() - dims + i];
      const int64_t wanted = FractionalSize(a, i, size);
      if (size >= 0 && (wanted < 1 || wanted + kernel[i] - 1 > size)) {
        return absl::InvalidArgumentError(absl::StrCat(wanted, " windows of ", kernel[i], " do not fit into ", size,
                                                       " in ", graph::TypeToText(input)));
      }
      size = wanted;
    }
    types[0] = graph::TensorType(input.data_type(), *sizes);
  }
  if (!a.Bool("return_indices")) return types;
  types.push_back(types[0]);
  types[1].set_data_type(v1::Tensor::INT64);
  return types;
}

absl::Status CheckFractional(const Attributes& a, int dims) {
  LANISTA_RETURN_IF_ERROR(ExpectAtLeast(a, {"kernel_size"}, 1));
  if (a.Has("output_size") == a.Has("output_ratio")) {
    return absl::InvalidArgumentError("needs either output_size or output_ratio");
  }
  if (a.Has("output_size")) return ExpectAtLeast(a, {"output_size"}, 1);
  const v1::Value& ratio = a.Get("output_ratio");
  const auto fits = [](const v1::Value& one) { return one.has_f() && one.f() > 0 && one.f() < 1; };
  bool valid = ratio.has_list() ? ratio.list().values_size() == dims : fits(ratio);
  for (const v1::Value& one : ratio.list().values()) valid = valid && fits(one);
  if (valid) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("output_ratio must be between 0 and 1, or a list of ", dims, " such numbers"));
}

// Graham 2014, arXiv:1412.6071.
ModuleSpec FractionalPool(int dims) {
  ModuleSpec spec{
      absl::StrCat("FractionalMaxPool", dims, "d"),
      {Required("kernel_size", AttributeKind::kInts, dims), Optional("output_size", AttributeKind::kInts, dims),
       Optional("output_ratio", AttributeKind::kAny), WithDefault("return_indices", false)}};
  spec.infer = [dims](const OpCall& call) { return InferFractional(call, dims); };
  spec.flops = [](const OpCall& call, const Types& outputs) -> std::optional<double> {
    double window = 1;
    for (const int64_t size : call.attributes.Ints("kernel_size")) window *= static_cast<double>(size);
    return FlopsAnElement(window)(call, outputs);
  };
  spec.check = [dims](const Attributes& a) { return CheckFractional(a, dims); };
  spec.cpp = [](const Attributes&) -> absl::StatusOr<std::string> {
    return absl::UnimplementedError("fractional max pooling is not written for LibTorch's C++ front end");
  };
  spec.stateful = true;
  spec.count_outputs = [](const Attributes& a) { return a.Bool("return_indices") ? 2 : 1; };
  return spec;
}

LANISTA_REGISTER_OP(MakeModule(Unpool(1)));
LANISTA_REGISTER_OP(MakeModule(Unpool(2)));
LANISTA_REGISTER_OP(MakeModule(Unpool(3)));
LANISTA_REGISTER_OP(MakeModule(FractionalPool(2)));
LANISTA_REGISTER_OP(MakeModule(FractionalPool(3)));

}  // namespace
}  // namespace lanista::ops
