// Builds modules that only move elements (flatten and unflatten, shuffles of pixels and channels, sliding blocks),
// padding and upsampling.
#include <torch/nn/functional/upsampling.h>
#include <torch/nn/modules/fold.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/padding.h>
#include <torch/nn/modules/pixelshuffle.h>

#include "src/ops/modules/module_torch.h"
#include "src/ops/modules/upsample.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

std::unique_ptr<OpModule> MakeFlatten(const Attributes& a) {
  return MakeUnary(nn::Flatten(nn::FlattenOptions().start_dim(a.Int("start_dim")).end_dim(a.Int("end_dim"))));
}

std::unique_ptr<OpModule> MakeUnflatten(const Attributes& a) {
  return MakeUnary(nn::Unflatten(nn::UnflattenOptions(a.Int("dim"), a.Ints("unflattened_size"))));
}

std::unique_ptr<OpModule> MakePixelShuffle(const Attributes& a) {
  return MakeUnary(nn::PixelShuffle(nn::PixelShuffleOptions(a.Int("upscale_factor"))));
}

std::unique_ptr<OpModule> MakePixelUnshuffle(const Attributes& a) {
  return MakeUnary(nn::PixelUnshuffle(nn::PixelUnshuffleOptions(a.Int("downscale_factor"))));
}

std::unique_ptr<OpModule> MakeChannelShuffle(const Attributes& a) {
  // LibTorch 1.13's channel_shuffle has no gradient.
  return MakeFunction([groups = a.Int("groups")](const torch::Tensor& x) {
    TORCH_CHECK(x.dim() > 2 && x.size(1) % groups == 0, "expects channels that are divisible by ", groups, ", gets ",
                x.sizes());
    return x.reshape({x.size(0), groups, x.size(1) / groups, -1}).transpose(1, 2).reshape(x.sizes());
  });
}

std::unique_ptr<OpModule> MakeUnfold(const Attributes& a) {
  return MakeUnary(nn::Unfold(nn::UnfoldOptions(Expand<2>(a, "kernel_size"))
                                  .dilation(Expand<2>(a, "dilation"))
                                  .padding(Expand<2>(a, "padding"))
                                  .stride(Expand<2>(a, "stride"))));
}

std::unique_ptr<OpModule> MakeFold(const Attributes& a) {
  return MakeUnary(nn::Fold(nn::FoldOptions(Expand<2>(a, "output_size"), Expand<2>(a, "kernel_size"))
                                .dilation(Expand<2>(a, "dilation"))
                                .padding(Expand<2>(a, "padding"))
                                .stride(Expand<2>(a, "stride"))));
}

template <typename Module, typename Options, size_t kDims>
std::unique_ptr<OpModule> MakePad(const Attributes& a) {
  return MakeUnary(Module(Options(Expand<2 * kDims>(a, "padding"))));
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeConstantPad(const Attributes& a) {
  return MakeUnary(Module(nn::ConstantPadOptions<kDims>(Expand<2 * kDims>(a, "padding"), a.Float("value"))));
}

void SetMode(const UpsampleMode& mode, nn::functional::InterpolateFuncOptions* options) {
  if (mode.name == "nearest") {
    options->mode(torch::kNearest);
  } else if (mode.name == "nearest-exact") {
    options->mode(torch::kNearestExact);
  } else if (mode.name == "linear") {
    options->mode(torch::kLinear);
  } else if (mode.name == "bilinear") {
    options->mode(torch::kBilinear);
  } else if (mode.name == "bicubic") {
    options->mode(torch::kBicubic);
  } else {
    options->mode(torch::kTrilinear);
  }
  if (mode.name != "nearest") options->align_corners(mode.align_corners);
}

// One number for each spatial dimension of the input: the attribute's list, or its only number repeated.
template <typename Number>
std::vector<Number> ForEachDim(const v1::Value& value, const torch::Tensor& x) {
  const auto number = [](const v1::Value& one) {
    return one.has_i() ? static_cast<Number>(one.i()) : static_cast<Number>(one.f());
  };
  if (!value.has_list()) return std::vector<Number>(static_cast<size_t>(x.dim() - 2), number(value));
  std::vector<Number> numbers;
  for (const v1::Value& one : value.list().values()) numbers.push_back(number(one));
  return numbers;
}

OpBuilder UpsampleBuilder(const std::string& type) {
  return [type](const Attributes& a) {
    nn::functional::InterpolateFuncOptions options;
    SetMode(ModeOf(type, a), &options);
    options.recompute_scale_factor(false);
    const bool sized = a.Has("size");
    return MakeFunction([options, sized, given = a.Get(sized ? "size" : "scale_factor")](const torch::Tensor& x) {
      TORCH_CHECK(x.dim() >= 3, "expects 3 to 5 dimensions, gets ", x.dim());
      auto own = options;
      if (sized) {
        own.size(ForEachDim<int64_t>(given, x));
      } else {
        own.scale_factor(ForEachDim<double>(given, x));
      }
      return nn::functional::interpolate(x, own);
    });
  };
}

LANISTA_REGISTER_OP_BUILDER("Flatten", MakeFlatten);
LANISTA_REGISTER_OP_BUILDER("Unflatten", MakeUnflatten);
LANISTA_REGISTER_OP_BUILDER("PixelShuffle", MakePixelShuffle);
LANISTA_REGISTER_OP_BUILDER("PixelUnshuffle", MakePixelUnshuffle);
LANISTA_REGISTER_OP_BUILDER("ChannelShuffle", MakeChannelShuffle);
LANISTA_REGISTER_OP_BUILDER("Unfold", MakeUnfold);
LANISTA_REGISTER_OP_BUILDER("Fold", MakeFold);
LANISTA_REGISTER_OP_BUILDER("ConstantPad1d", (MakeConstantPad<nn::ConstantPad1d, 1>));
LANISTA_REGISTER_OP_BUILDER("ConstantPad2d", (MakeConstantPad<nn::ConstantPad2d, 2>));
LANISTA_REGISTER_OP_BUILDER("ConstantPad3d", (MakeConstantPad<nn::ConstantPad3d, 3>));
LANISTA_REGISTER_OP_BUILDER("ZeroPad2d", (MakePad<nn::ZeroPad2d, nn::ZeroPad2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("ReflectionPad1d", (MakePad<nn::ReflectionPad1d, nn::ReflectionPad1dOptions, 1>));
LANISTA_REGISTER_OP_BUILDER("ReflectionPad2d", (MakePad<nn::ReflectionPad2d, nn::ReflectionPad2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("ReflectionPad3d", (MakePad<nn::ReflectionPad3d, nn::ReflectionPad3dOptions, 3>));
LANISTA_REGISTER_OP_BUILDER("ReplicationPad1d", (MakePad<nn::ReplicationPad1d, nn::ReplicationPad1dOptions, 1>));
LANISTA_REGISTER_OP_BUILDER("ReplicationPad2d", (MakePad<nn::ReplicationPad2d, nn::ReplicationPad2dOptions, 2>));
LANISTA_REGISTER_OP_BUILDER("ReplicationPad3d", (MakePad<nn::ReplicationPad3d, nn::ReplicationPad3dOptions, 3>));
LANISTA_REGISTER_OP_BUILDER("Upsample", UpsampleBuilder("Upsample"));
LANISTA_REGISTER_OP_BUILDER("UpsamplingNearest2d", UpsampleBuilder("UpsamplingNearest2d"));
LANISTA_REGISTER_OP_BUILDER("UpsamplingBilinear2d", UpsampleBuilder("UpsamplingBilinear2d"));

}  // namespace
}  // namespace lanista::ops
