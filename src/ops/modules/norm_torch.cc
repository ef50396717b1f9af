// Builds normalisations.
#include <torch/nn/functional/instancenorm.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/instancenorm.h>
#include <torch/nn/modules/normalization.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <typename Options>
Options ChannelNormOptions(const Attributes& a) {
  Options options(a.Int("num_features"));
  options.eps(a.Float("eps")).affine(a.Bool("affine")).track_running_stats(a.Bool("track_running_stats"));
  return options;
}

template <typename Module>
std::unique_ptr<OpModule> MakeBatchNorm(const Attributes& a) {
  auto options = ChannelNormOptions<nn::BatchNormOptions>(a);
  // Without momentum, the average is cumulative.
  if (a.Has("momentum")) {
    options.momentum(a.Float("momentum"));
  } else {
    options.momentum(torch::nullopt);
  }
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

std::unique_ptr<OpModule> MakeLocalResponseNorm(const Attributes& a) {
  return MakeUnary(nn::LocalResponseNorm(
      nn::LocalResponseNormOptions(a.Int("size")).alpha(a.Float("alpha")).beta(a.Float("beta")).k(a.Float("k"))));
}

LANISTA_REGISTER_OP_BUILDER("BatchNorm1d", MakeBatchNorm<nn::BatchNorm1d>);
LANISTA_REGISTER_OP_BUILDER("BatchNorm2d", MakeBatchNorm<nn::BatchNorm2d>);
LANISTA_REGISTER_OP_BUILDER("BatchNorm3d", MakeBatchNorm<nn::BatchNorm3d>);
LANISTA_REGISTER_OP_BUILDER("InstanceNorm1d", MakeInstanceNorm<nn::InstanceNorm1d>);
LANISTA_REGISTER_OP_BUILDER("InstanceNorm2d", MakeInstanceNorm<nn::InstanceNorm2d>);
LANISTA_REGISTER_OP_BUILDER("InstanceNorm3d", MakeInstanceNorm<nn::InstanceNorm3d>);
LANISTA_REGISTER_OP_BUILDER("LayerNorm", MakeLayerNorm);
LANISTA_REGISTER_OP_BUILDER("GroupNorm", MakeGroupNorm);
LANISTA_REGISTER_OP_BUILDER("LocalResponseNorm", MakeLocalResponseNorm);

}  // namespace
}  // namespace lanista::ops
