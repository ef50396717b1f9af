// Builds unpooling and fractional pooling.
#include <torch/nn/modules/pooling.h>

#include <cmath>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeUnpool(const Attributes& a) {
  const Module module(nn::MaxUnpoolOptions<kDims>(Expand<kDims>(a, "kernel_size"))
                          .stride(Expand<kDims>(a, a.Has("stride") ? "stride" : "kernel_size"))
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

LANISTA_REGISTER_OP_BUILDER("MaxUnpool1d", (MakeUnpool<nn::MaxUnpool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("MaxUnpool2d", (MakeUnpool<nn::MaxUnpool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("MaxUnpool3d", (MakeUnpool<nn::MaxUnpool3d, 3>));
LANISTA_REGISTER_OP_BUILDER("FractionalMaxPool2d", MakeFractionalPool<2>);
LANISTA_REGISTER_OP_BUILDER("FractionalMaxPool3d", MakeFractionalPool<3>);

}  // namespace
}  // namespace lanista::ops
