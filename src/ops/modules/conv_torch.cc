// Builds convolutions.
#include <torch/nn/modules/conv.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

template <typename Options>
void SetPaddingMode(const std::string& mode, Options* options) {
  if (mode == "reflect") options->padding_mode(torch::kReflect);
  if (mode == "replicate") options->padding_mode(torch::kReplicate);
  if (mode == "circular") options->padding_mode(torch::kCircular);
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeConv(const Attributes& a) {
  torch::nn::ConvOptions<kDims> options(a.Int("in_channels"), a.Int("out_channels"), Expand<kDims>(a, "kernel_size"));
  options.stride(Expand<kDims>(a, "stride"))
      .dilation(Expand<kDims>(a, "dilation"))
      .groups(a.Int("groups"))
      .bias(a.Bool("bias"));
  SetPaddingMode(a.String("padding_mode"), &options);
  const std::string padding = a.Get("padding").s();
  if (padding == "same") {
    options.padding(torch::kSame);
  } else if (padding == "valid") {
    options.padding(torch::kValid);
  } else {
    options.padding(Expand<kDims>(a, "padding"));
  }
  return MakeUnary(Module(options));
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeConvTranspose(const Attributes& a) {
  torch::nn::ConvTransposeOptions<kDims> options(a.Int("in_channels"), a.Int("out_channels"),
                                                 Expand<kDims>(a, "kernel_size"));
  options.stride(Expand<kDims>(a, "stride"))
      .padding(Expand<kDims>(a, "padding"))
      .output_padding(Expand<kDims>(a, "output_padding"))
      .groups(a.Int("groups"))
      .bias(a.Bool("bias"))
      .dilation(Expand<kDims>(a, "dilation"));
  return MakeModuleOp(Module(options), [](auto& module, Inputs inputs, c10::IValue* outputs) {
    // Without a size: as output_padding says.
    *outputs = module.forward(inputs[0].toTensor(), torch::nullopt);
  });
}

LANISTA_REGISTER_OP_BUILDER("Conv1d", (MakeConv<torch::nn::Conv1d, 1>));
LANISTA_REGISTER_OP_BUILDER("Conv2d", (MakeConv<torch::nn::Conv2d, 2>));
LANISTA_REGISTER_OP_BUILDER("Conv3d", (MakeConv<torch::nn::Conv3d, 3>));
LANISTA_REGISTER_OP_BUILDER("ConvTranspose1d", (MakeConvTranspose<torch::nn::ConvTranspose1d, 1>));
LANISTA_REGISTER_OP_BUILDER("ConvTranspose2d", (MakeConvTranspose<torch::nn::ConvTranspose2d, 2>));
LANISTA_REGISTER_OP_BUILDER("ConvTranspose3d", (MakeConvTranspose<torch::nn::ConvTranspose3d, 3>));

}  // namespace
}  // namespace lanista::ops
