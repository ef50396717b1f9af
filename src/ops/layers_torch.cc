// Builds linear layers, normalisations, pooling, activations and dropouts.
#include <torch/nn/functional/instancenorm.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/modules/pixelshuffle.h>
#include <torch/nn/modules/pooling.h>

#include "src/ops/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

// ---- Linear ----

std::unique_ptr<OpModule> MakeLinear(const Attributes& a) {
  return MakeUnary(nn::Linear(nn::LinearOptions(a.Int("in_features"), a.Int("out_features")).bias(a.Bool("bias"))));
}

std::unique_ptr<OpModule> MakeIdentity(const Attributes&) { return MakeUnary(nn::Identity()); }

std::unique_ptr<OpModule> MakeFlatten(const Attributes& a) {
  return MakeUnary(nn::Flatten(nn::FlattenOptions().start_dim(a.Int("start_dim")).end_dim(a.Int("end_dim"))));
}

std::unique_ptr<OpModule> MakePixelShuffle(const Attributes& a) {
  return MakeUnary(nn::PixelShuffle(nn::PixelShuffleOptions(a.Int("upscale_factor"))));
}

std::unique_ptr<OpModule> MakeEmbedding(const Attributes& a) {
  nn::EmbeddingOptions options(a.Int("num_embeddings"), a.Int("embedding_dim"));
  if (a.Has("padding_idx")) options.padding_idx(a.Int("padding_idx"));
  if (a.Has("max_norm")) options.max_norm(a.Float("max_norm"));
  options.norm_type(a.Float("norm_type")).scale_grad_by_freq(a.Bool("scale_grad_by_freq")).sparse(a.Bool("sparse"));
  return MakeUnary(nn::Embedding(options));
}

// ---- Normalisation ----

template <typename Options>
Options ChannelNormOptions(const Attributes& a) {
  Options options(a.Int("num_features"));
  options.eps(a.Float("eps")).affine(a.Bool("affine")).track_running_stats(a.Bool("track_running_stats"));
  return options;
}

template <typename Module>
std::unique_ptr<OpModule> MakeBatchNorm(const Attributes& a) {
  auto options = ChannelNormOptions<nn::BatchNormOptions>(a);
  // None: a cumulative average.
  options.momentum(a.Has("momentum") ? c10::make_optional(a.Float("momentum")) : c10::nullopt);
  return MakeUnary(Module(options));
}

template <typename Module>
std::unique_ptr<OpModule> MakeInstanceNorm(const Attributes& a) {
  auto options = ChannelNormOptions<nn::InstanceNormOptions>(a);
  options.momentum(a.Float("momentum"));
  return MakeUnary(Module(options));
}

std::unique_ptr<OpModule> MakeLayerNorm(const Attributes& a) {
  return MakeUnary(nn::LayerNorm(nn::LayerNormOptions(a.Ints("normalized_shape"))
                                     .eps(a.Float("eps"))
                                     .elementwise_affine(a.Bool("elementwise_affine"))));
}

std::unique_ptr<OpModule> MakeGroupNorm(const Attributes& a) {
  return MakeUnary(nn::GroupNorm(
      nn::GroupNormOptions(a.Int("num_groups"), a.Int("num_channels")).eps(a.Float("eps")).affine(a.Bool("affine"))));
}

// ---- Pooling ----

template <size_t kDims>
torch::ExpandingArray<kDims> StrideOf(const Attributes& a) {
  return Expand<kDims>(a, a.Has("stride") ? "stride" : "kernel_size");
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeMaxPool(const Attributes& a) {
  return MakeUnary(Module(nn::MaxPoolOptions<kDims>(Expand<kDims>(a, "kernel_size"))
                              .stride(StrideOf<kDims>(a))
                              .padding(Expand<kDims>(a, "padding"))
                              .dilation(Expand<kDims>(a, "dilation"))
                              .ceil_mode(a.Bool("ceil_mode"))));
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
  std::vector<c10::optional<int64_t>> sizes;
  for (size_t i = 0; i < kDims; ++i) {
    const v1::Value& one = value.has_list() ? value.list().values(static_cast<int>(i)) : value;
    sizes.push_back(one.has_i() ? c10::make_optional(one.i()) : c10::nullopt);
  }
  return torch::ExpandingArrayWithOptionalElem<kDims>(sizes);
}

template <typename Module, typename Options, size_t kDims>
std::unique_ptr<OpModule> MakeAdaptivePool(const Attributes& a) {
  if constexpr (kDims == 1) {
    const auto size = OutputSize<1>(a);
    TORCH_CHECK((*size)[0].has_value(), "output_size must be a number");
    return MakeUnary(Module(Options(torch::ExpandingArray<1>(*(*size)[0]))));
  } else {
    return MakeUnary(Module(Options(OutputSize<kDims>(a))));
  }
}

// ---- Activations and dropouts ----

template <typename Module>
std::unique_ptr<OpModule> MakeInplace(const Attributes& a) {
  return MakeUnary(Module(a.Bool("inplace")));
}

std::unique_ptr<OpModule> MakeLeakyRelu(const Attributes& a) {
  return MakeUnary(
      nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(a.Float("negative_slope")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeElu(const Attributes& a) {
  return MakeUnary(nn::ELU(nn::ELUOptions().alpha(a.Float("alpha")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeCelu(const Attributes& a) {
  return MakeUnary(nn::CELU(nn::CELUOptions().alpha(a.Float("alpha")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeGelu(const Attributes& a) {
  return MakeFunction(
      [approximate = a.String("approximate")](const torch::Tensor& x) { return torch::gelu(x, approximate); });
}

std::unique_ptr<OpModule> MakePRelu(const Attributes& a) {
  return MakeUnary(nn::PReLU(nn::PReLUOptions().num_parameters(a.Int("num_parameters")).init(a.Float("init"))));
}

std::unique_ptr<OpModule> MakeHardtanh(const Attributes& a) {
  return MakeUnary(nn::Hardtanh(
      nn::HardtanhOptions().min_val(a.Float("min_val")).max_val(a.Float("max_val")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeSoftplus(const Attributes& a) {
  return MakeUnary(nn::Softplus(nn::SoftplusOptions().beta(a.Float("beta")).threshold(a.Float("threshold"))));
}

std::unique_ptr<OpModule> MakeSoftmax(const Attributes& a) { return MakeUnary(nn::Softmax(a.Int("dim"))); }
std::unique_ptr<OpModule> MakeLogSoftmax(const Attributes& a) { return MakeUnary(nn::LogSoftmax(a.Int("dim"))); }

template <typename Module>
std::unique_ptr<OpModule> MakePlain(const Attributes&) {
  return MakeUnary(Module());
}

// Functions that are modules in Python only; `inplace` changes no value.
std::unique_ptr<OpModule> MakeSilu(const Attributes&) {
  return MakeFunction([](const torch::Tensor& x) { return torch::silu(x); });
}
std::unique_ptr<OpModule> MakeMish(const Attributes&) {
  return MakeFunction([](const torch::Tensor& x) { return torch::mish(x); });
}
std::unique_ptr<OpModule> MakeHardswish(const Attributes&) {
  return MakeFunction([](const torch::Tensor& x) { return torch::hardswish(x); });
}
std::unique_ptr<OpModule> MakeHardsigmoid(const Attributes&) {
  return MakeFunction([](const torch::Tensor& x) { return torch::hardsigmoid(x); });
}

template <typename Module>
std::unique_ptr<OpModule> MakeDropout(const Attributes& a) {
  return MakeUnary(Module(nn::DropoutOptions(a.Float("p")).inplace(a.Bool("inplace"))));
}

// torchvision.ops.StochasticDepth (Huang et al. 2016): drops the whole input, a sample ("row") or a batch at a time.
struct StochasticDepthImpl : nn::Module {
  StochasticDepthImpl(double p, const std::string& mode) : p_(p), by_row_(mode == "row") {}

  torch::Tensor forward(const torch::Tensor& input) {
    if (!is_training() || p_ == 0) return input;
    const double survival = 1 - p_;
    std::vector<int64_t> size(input.dim(), 1);
    if (by_row_) size[0] = input.size(0);
    torch::Tensor noise = torch::empty(size, input.options()).bernoulli_(survival);
    if (survival > 0) noise.div_(survival);
    return input * noise;
  }

  const double p_;
  const bool by_row_;
};
TORCH_MODULE(StochasticDepth);

std::unique_ptr<OpModule> MakeStochasticDepth(const Attributes& a) {
  return MakeUnary(StochasticDepth(a.Float("p"), a.String("mode")));
}

LANISTA_REGISTER_OP_BUILDER("Linear", MakeLinear);
LANISTA_REGISTER_OP_BUILDER("Identity", MakeIdentity);
LANISTA_REGISTER_OP_BUILDER("Flatten", MakeFlatten);
LANISTA_REGISTER_OP_BUILDER("PixelShuffle", MakePixelShuffle);
LANISTA_REGISTER_OP_BUILDER("Embedding", MakeEmbedding);
LANISTA_REGISTER_OP_BUILDER("BatchNorm1d", MakeBatchNorm<nn::BatchNorm1d>);
LANISTA_REGISTER_OP_BUILDER("BatchNorm2d", MakeBatchNorm<nn::BatchNorm2d>);
LANISTA_REGISTER_OP_BUILDER("BatchNorm3d", MakeBatchNorm<nn::BatchNorm3d>);
LANISTA_REGISTER_OP_BUILDER("InstanceNorm1d", MakeInstanceNorm<nn::InstanceNorm1d>);
LANISTA_REGISTER_OP_BUILDER("InstanceNorm2d", MakeInstanceNorm<nn::InstanceNorm2d>);
LANISTA_REGISTER_OP_BUILDER("InstanceNorm3d", MakeInstanceNorm<nn::InstanceNorm3d>);
LANISTA_REGISTER_OP_BUILDER("LayerNorm", MakeLayerNorm);
LANISTA_REGISTER_OP_BUILDER("GroupNorm", MakeGroupNorm);
LANISTA_REGISTER_OP_BUILDER("MaxPool1d", (MakeMaxPool<nn::MaxPool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("MaxPool2d", (MakeMaxPool<nn::MaxPool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("MaxPool3d", (MakeMaxPool<nn::MaxPool3d, 3>));
LANISTA_REGISTER_OP_BUILDER("AvgPool1d", (MakeAvgPool<nn::AvgPool1d, 1>));
LANISTA_REGISTER_OP_BUILDER("AvgPool2d", (MakeAvgPool<nn::AvgPool2d, 2>));
LANISTA_REGISTER_OP_BUILDER("AvgPool3d", (MakeAvgPool<nn::AvgPool3d, 3>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveMaxPool1d",
                            (MakeAdaptivePool<nn::AdaptiveMaxPool1d, nn::AdaptiveMaxPool1dOptions, 1>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveMaxPool2d",
                            (MakeAdaptivePool<nn::AdaptiveMaxPool2d, nn::AdaptiveMaxPool2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveMaxPool3d",
                            (MakeAdaptivePool<nn::AdaptiveMaxPool3d, nn::AdaptiveMaxPool3dOptions, 3>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveAvgPool1d",
                            (MakeAdaptivePool<nn::AdaptiveAvgPool1d, nn::AdaptiveAvgPool1dOptions, 1>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveAvgPool2d",
                            (MakeAdaptivePool<nn::AdaptiveAvgPool2d, nn::AdaptiveAvgPool2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("AdaptiveAvgPool3d",
                            (MakeAdaptivePool<nn::AdaptiveAvgPool3d, nn::AdaptiveAvgPool3dOptions, 3>));
LANISTA_REGISTER_OP_BUILDER("ReLU", MakeInplace<nn::ReLU>);
LANISTA_REGISTER_OP_BUILDER("ReLU6", MakeInplace<nn::ReLU6>);
LANISTA_REGISTER_OP_BUILDER("SELU", MakeInplace<nn::SELU>);
LANISTA_REGISTER_OP_BUILDER("LeakyReLU", MakeLeakyRelu);
LANISTA_REGISTER_OP_BUILDER("ELU", MakeElu);
LANISTA_REGISTER_OP_BUILDER("CELU", MakeCelu);
LANISTA_REGISTER_OP_BUILDER("GELU", MakeGelu);
LANISTA_REGISTER_OP_BUILDER("PReLU", MakePRelu);
LANISTA_REGISTER_OP_BUILDER("SiLU", MakeSilu);
LANISTA_REGISTER_OP_BUILDER("Mish", MakeMish);
LANISTA_REGISTER_OP_BUILDER("Hardswish", MakeHardswish);
LANISTA_REGISTER_OP_BUILDER("Hardsigmoid", MakeHardsigmoid);
LANISTA_REGISTER_OP_BUILDER("Sigmoid", MakePlain<nn::Sigmoid>);
LANISTA_REGISTER_OP_BUILDER("Tanh", MakePlain<nn::Tanh>);
LANISTA_REGISTER_OP_BUILDER("Hardtanh", MakeHardtanh);
LANISTA_REGISTER_OP_BUILDER("Softplus", MakeSoftplus);
LANISTA_REGISTER_OP_BUILDER("Softsign", MakePlain<nn::Softsign>);
LANISTA_REGISTER_OP_BUILDER("LogSigmoid", MakePlain<nn::LogSigmoid>);
LANISTA_REGISTER_OP_BUILDER("Softmax", MakeSoftmax);
LANISTA_REGISTER_OP_BUILDER("LogSoftmax", MakeLogSoftmax);
LANISTA_REGISTER_OP_BUILDER("Dropout", MakeDropout<nn::Dropout>);
LANISTA_REGISTER_OP_BUILDER("Dropout2d", MakeDropout<nn::Dropout2d>);
LANISTA_REGISTER_OP_BUILDER("Dropout3d", MakeDropout<nn::Dropout3d>);
LANISTA_REGISTER_OP_BUILDER("AlphaDropout", MakeDropout<nn::AlphaDropout>);
LANISTA_REGISTER_OP_BUILDER("StochasticDepth", MakeStochasticDepth);

}  // namespace
}  // namespace lanista::ops
