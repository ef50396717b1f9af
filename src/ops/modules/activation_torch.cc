// Builds activations.
#include <torch/nn/modules/activation.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <typename Module>
std::unique_ptr<OpModule> MakePlain(const Attributes&) {
  return MakeUnary(Module());
}

template <typename Module>
std::unique_ptr<OpModule> MakeInplace(const Attributes& a) {
  return MakeUnary(Module(a.Bool("inplace")));
}

template <typename Module>
std::unique_ptr<OpModule> MakeOverDim(const Attributes& a) {
  return MakeUnary(Module(a.Int("dim")));
}

template <typename Module>
std::unique_ptr<OpModule> MakeShrink(const Attributes& a) {
  return MakeUnary(Module(a.Float("lambd")));
}

// Functions for which LibTorch has no module, or none that works in place.
template <torch::Tensor (*kFunction)(const torch::Tensor&), torch::Tensor& (*kInplace)(torch::Tensor&)>
std::unique_ptr<OpModule> MakeFunctional(const Attributes& a) {
  if (!a.Bool("inplace")) return MakeFunction(kFunction);
  return MakeFunction([](torch::Tensor x) { return kInplace(x); });
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

std::unique_ptr<OpModule> MakeRRelu(const Attributes& a) {
  return MakeUnary(
      nn::RReLU(nn::RReLUOptions().lower(a.Float("lower")).upper(a.Float("upper")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeHardtanh(const Attributes& a) {
  return MakeUnary(nn::Hardtanh(
      nn::HardtanhOptions().min_val(a.Float("min_val")).max_val(a.Float("max_val")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeThreshold(const Attributes& a) {
  return MakeUnary(
      nn::Threshold(nn::ThresholdOptions(a.Float("threshold"), a.Float("value")).inplace(a.Bool("inplace"))));
}

std::unique_ptr<OpModule> MakeSoftplus(const Attributes& a) {
  return MakeUnary(nn::Softplus(nn::SoftplusOptions().beta(a.Float("beta")).threshold(a.Float("threshold"))));
}

LANISTA_REGISTER_OP_BUILDER("ReLU", MakeInplace<nn::ReLU>);
LANISTA_REGISTER_OP_BUILDER("ReLU6", MakeInplace<nn::ReLU6>);
LANISTA_REGISTER_OP_BUILDER("LeakyReLU", MakeLeakyRelu);
LANISTA_REGISTER_OP_BUILDER("ELU", MakeElu);
LANISTA_REGISTER_OP_BUILDER("CELU", MakeCelu);
LANISTA_REGISTER_OP_BUILDER("SELU", MakeInplace<nn::SELU>);
LANISTA_REGISTER_OP_BUILDER("GELU", MakeGelu);
LANISTA_REGISTER_OP_BUILDER("GLU", MakeOverDim<nn::GLU>);
LANISTA_REGISTER_OP_BUILDER("PReLU", MakePRelu);
LANISTA_REGISTER_OP_BUILDER("RReLU", MakeRRelu);
LANISTA_REGISTER_OP_BUILDER("SiLU", (MakeFunctional<torch::silu, torch::silu_>));
LANISTA_REGISTER_OP_BUILDER("Mish", (MakeFunctional<torch::mish, torch::mish_>));
LANISTA_REGISTER_OP_BUILDER("Hardswish", (MakeFunctional<torch::hardswish, torch::hardswish_>));
LANISTA_REGISTER_OP_BUILDER("Hardsigmoid", (MakeFunctional<torch::hardsigmoid, torch::hardsigmoid_>));
LANISTA_REGISTER_OP_BUILDER("Sigmoid", MakePlain<nn::Sigmoid>);
LANISTA_REGISTER_OP_BUILDER("LogSigmoid", MakePlain<nn::LogSigmoid>);
LANISTA_REGISTER_OP_BUILDER("Tanh", MakePlain<nn::Tanh>);
LANISTA_REGISTER_OP_BUILDER("Tanhshrink", MakePlain<nn::Tanhshrink>);
LANISTA_REGISTER_OP_BUILDER("Hardtanh", MakeHardtanh);
LANISTA_REGISTER_OP_BUILDER("Hardshrink", MakeShrink<nn::Hardshrink>);
LANISTA_REGISTER_OP_BUILDER("Softshrink", MakeShrink<nn::Softshrink>);
LANISTA_REGISTER_OP_BUILDER("Softplus", MakeSoftplus);
LANISTA_REGISTER_OP_BUILDER("Softsign", MakePlain<nn::Softsign>);
LANISTA_REGISTER_OP_BUILDER("Softmax", MakeOverDim<nn::Softmax>);
LANISTA_REGISTER_OP_BUILDER("Softmin", MakeOverDim<nn::Softmin>);
LANISTA_REGISTER_OP_BUILDER("LogSoftmax", MakeOverDim<nn::LogSoftmax>);
LANISTA_REGISTER_OP_BUILDER("Softmax2d", MakePlain<nn::Softmax2d>);
LANISTA_REGISTER_OP_BUILDER("Threshold", MakeThreshold);

}  // namespace
}  // namespace lanista::ops
