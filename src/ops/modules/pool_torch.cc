// Builds pooling, fractional pooling and unpooling.
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>

#include <cmath>
#include <tuple>
#include <utility>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <size_t kDims>
torch::ExpandingArray<kDims> StrideOf(const Attributes& a) {
  return Expand<kDims>(a, a.Has("stride") ? "stride" : "kernel_size");
}

// Returns the values, and their indices if `with_indices`.
template <typename Module>
std::unique_ptr<OpModule> MakeMax(const Module& module, bool with_indices) {
  if (!with_indices) return MakeUnary(module);
  return MakeModuleOp(module, [](auto& pool, Inputs inputs, c10::IValue* outputs) {
    auto [values, indices] = pool.forward_with_indices(inputs[0].toTensor());
    outputs[0] = std::move(values);
    outputs[1] = std::move(indices);
  });
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeMaxPool(const Attributes& a) {
  return MakeMax(Module(nn::MaxPoolOptions<kDims>(Expand<kDims>(a, "kernel_size"))
                            .stride(StrideOf<kDims>(a))
                            .padding(Expand<kDims>(a, "padding"))
                            .dilation(Expand<kDims>(a, "dilation"))
                            .ceil_mode(a.Bool("ceil_mode"))),
                 a.Bool("return_indices"));
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeAvgPool(const Attributes& a) {
  nn::AvgPoolOptions<kDims> options(Expand<kDims>(a, "kernel_size"));
  options.stride(StrideOf<kDims>(a))
      .padding(Expand<kDims>(a, "padding"))
      .ceil_mode(a.Bool("ceil_mode"))
      .count_include_pad(a.Bool("count_include_pad"));
  if constexpr (kDims > 1) {
    if (a.Has("divisor_override")) options.divisor_override(a.Int("divisor_override"));
  }
  return MakeUnary(Module(options));
}

template <size_t kDims>
torch::ExpandingArrayWithOptionalElem<kDims> OutputSize(const Attributes& a) {
  const v1::Value& value = a.Get("output_size");
  std::vector<torch::optional<int64_t>> sizes;
  for (size_t i = 0; i < kDims; ++i) {
    const v1::Value& one = value.has_list() ? value.list().values(static_cast<int>(i)) : value;
    sizes.push_back(one.has_i() ? torch::optional<int64_t>(one.i()) : torch::nullopt);
  }
  return torch::ExpandingArrayWithOptionalElem<kDims>(sizes);
}

template <typename Module, typename Options, size_t kDims>
std::unique_ptr<OpModule> MakeAdaptivePool(const Attributes& a) {
  if constexpr (kDims == 1) {
    // LibTorch's one-dimensional module cannot take "none" as its size.
    const auto size = (*OutputSize<1>(a))[0];
    if (!size.has_value()) return MakeUnary(nn::Identity());
    return MakeUnary(Module(Options(torch::ExpandingArray<1>(*size))));
  } else {
    return MakeUnary(Module(Options(OutputSize<kDims>(a))));
  }
}

template <typename Module, typename Options, size_t kDims>
std::unique_ptr<OpModule> MakeAdaptiveMaxPool(const Attributes& a) {
  if (!a.Bool("return_indices")) return MakeAdaptivePool<Module, Options, kDims>(a);
  if constexpr (kDims == 1) {
    const auto size = (*OutputSize<1>(a))[0];
    TORCH_CHECK(size.has_value(), "output_size must be a number where indices are returned");
    return MakeMax(Module(Options(torch::ExpandingArray<1>(*size))), true);
  } else {
    return MakeMax(Module(Options(OutputSize<kDims>(a))), true);
  }
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakePowerPool(const Attributes& a) {
  return MakeUnary(Module(nn::LPPoolOptions<kDims>(a.Float("norm_type"), Expand<kDims>(a, "kernel_size"))
                              .stride(StrideOf<kDims>(a))
                              .ceil_mode(a.Bool("ceil_mode"))));
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeUnpool(const Attributes& a) {
  const Module module(nn::MaxUnpoolOptions<kDims>(Expand<kDims>(a, "kernel_size"))
                          .stride(StrideOf<kDims>(a))
                          .padding(Expand<kDims>(a, "padding")));
  return MakeModuleOp(module, [](auto& unpool, Inputs inputs, c10::IValue* outputs) {
    outputs[0] = unpool.forward(inputs[0].toTensor(), inputs[1].toTensor());
  });
}

// LibTorch's module draws no random samples for an input without a batch.
template <int kDims>
struct FractionalPoolImpl final : nn::Module {
  explicit FractionalPoolImpl(const Attributes& a) : kernel(a.Ints("kernel_size")), indices(a.Bool("return_indices")) {
    if (a.Has("output_size")) size = a.Ints("output_size");
    const v1::Value& ratio = a.Get("output_ratio");
    for (int i = 0; size.empty() && i < kDims; ++i)
      ratios.push_back((ratio.has_list() ? ratio.list().values(i) : ratio).f());
  }

  std::tuple<torch::Tensor, torch::Tensor> forward(const torch::Tensor& x) const {
    TORCH_CHECK(x.dim() == kDims + 1 || x.dim() == kDims + 2, "expects ", kDims + 1, " or ", kDims + 2,
                " dimensions, gets ", x.dim());
    std::vector<int64_t> wanted = size;
    for (int i = 0; size.empty() && i < kDims; ++i) {
      wanted.push_back(static_cast<int64_t>(std::floor(static_cast<double>(x.size(i - kDims)) * ratios[i])));
    }
    const int64_t batch = x.dim() == kDims + 1 ? 1 : x.size(0);
    const torch::Tensor samples = torch::rand({batch, x.size(-kDims - 1), kDims}, x.options().requires_grad(false));
    if constexpr (kDims == 2) {
      return torch::fractional_max_pool2d(x, kernel, wanted, samples);
    } else {
      return torch::fractional_max_pool3d(x, kernel, wanted, samples);
    }
  }

  const std::vector<int64_t> kernel;
  const bool indices;
  std::vector<int64_t> size;
  std::vector<double> ratios;
};

template <int kDims>
std::unique_ptr<OpModule> MakeFractionalPool(const Attributes& a) {
  using Impl = FractionalPoolImpl<kDims>;
  return MakeModuleOp(nn::ModuleHolder<Impl>(std::make_shared<Impl>(a)),
                      [](Impl& pool, Inputs inputs, c10::IValue* outputs) {
                        auto [values, indices] = pool.forward(inputs[0].toTensor());
                        outputs[0] = std::move(values);
                        if (pool.indices) outputs[1] = std::move(indices);
                      });
}

LANISTA_REGISTER_OP_BUILDER("MaxPool1d", (MakeMaxPool<nn::MaxPool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("MaxPool2d", (MakeMaxPool<nn::MaxPool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("MaxPool3d", (MakeMaxPool<nn::MaxPool3d, 3>));
LANISTA_REGISTER_OP_BUILDER("AvgPool1d", (MakeAvgPool<nn::AvgPool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("AvgPool2d", (MakeAvgPool<nn::AvgPool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("AvgPool3d", (MakeAvgPool<nn::AvgPool3d, 3>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveMaxPool1d",
                            (MakeAdaptiveMaxPool<nn::AdaptiveMaxPool1d, nn::AdaptiveMaxPool1dOptions, 1>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveMaxPool2d",
                            (MakeAdaptiveMaxPool<nn::AdaptiveMaxPool2d, nn::AdaptiveMaxPool2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveMaxPool3d",
                            (MakeAdaptiveMaxPool<nn::AdaptiveMaxPool3d, nn::AdaptiveMaxPool3dOptions, 3>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveAvgPool1d",
                            (MakeAdaptivePool<nn::AdaptiveAvgPool1d, nn::AdaptiveAvgPool1dOptions, 1>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveAvgPool2d",
                            (MakeAdaptivePool<nn::AdaptiveAvgPool2d, nn::AdaptiveAvgPool2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveAvgPool3d",
                            (MakeAdaptivePool<nn::AdaptiveAvgPool3d, nn::AdaptiveAvgPool3dOptions, 3>));
LANISTA_REGISTER_OP_BUILDER("LPPool1d", (MakePowerPool<nn::LPPool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("LPPool2d", (MakePowerPool<nn::LPPool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("MaxUnpool1d", (MakeUnpool<nn::MaxUnpool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("MaxUnpool2d", (MakeUnpool<nn::MaxUnpool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("MaxUnpool3d", (MakeUnpool<nn::MaxUnpool3d, 3>));
LANISTA_REGISTER_OP_BUILDER("FractionalMaxPool2d", MakeFractionalPool<2>);
LANISTA_REGISTER_OP_BUILDER("FractionalMaxPool3d", MakeFractionalPool<3>);

}  // namespace
}  // namespace lanista::ops
