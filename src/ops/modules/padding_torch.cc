// Builds padding.
#include <torch/nn/modules/padding.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <typename Module, typename Options, size_t kDims>
std::unique_ptr<OpModule> MakePad(const Attributes& a) {
  return MakeUnary(Module(Options(Expand<2 * kDims>(a, "padding"))));
}

template <typename Module, size_t kDims>
std::unique_ptr<OpModule> MakeConstantPad(const Attributes& a) {
  return MakeUnary(Module(nn::ConstantPadOptions<kDims>(Expand<2 * kDims>(a, "padding"), a.Float("value"))));
}

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

}  // namespace
}  // namespace lanista::ops
