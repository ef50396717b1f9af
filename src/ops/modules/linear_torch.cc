// Builds linear layers and distances.
#include <torch/nn/modules/distance.h>
#include <torch/nn/modules/linear.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

std::unique_ptr<OpModule> MakeLinear(const Attributes& a) {
  return MakeUnary(nn::Linear(nn::LinearOptions(a.Int("in_features"), a.Int("out_features")).bias(a.Bool("bias"))));
}

std::unique_ptr<OpModule> MakeIdentity(const Attributes&) { return MakeUnary(nn::Identity()); }

std::unique_ptr<OpModule> MakeBilinear(const Attributes& a) {
  return MakeBinary(nn::Bilinear(
      nn::BilinearOptions(a.Int("in1_features"), a.Int("in2_features"), a.Int("out_features")).bias(a.Bool("bias"))));
}

std::unique_ptr<OpModule> MakeCosineSimilarity(const Attributes& a) {
  return MakeBinary(nn::CosineSimilarity(nn::CosineSimilarityOptions().dim(a.Int("dim")).eps(a.Float("eps"))));
}

std::unique_ptr<OpModule> MakePairwiseDistance(const Attributes& a) {
  return MakeBinary(nn::PairwiseDistance(
      nn::PairwiseDistanceOptions().p(a.Float("p")).eps(a.Float("eps")).keepdim(a.Bool("keepdim"))));
}

LANISTA_REGISTER_OP_BUILDER("Linear", MakeLinear);
LANISTA_REGISTER_OP_BUILDER("Bilinear", MakeBilinear);
LANISTA_REGISTER_OP_BUILDER("Identity", MakeIdentity);
LANISTA_REGISTER_OP_BUILDER("CosineSimilarity", MakeCosineSimilarity);
LANISTA_REGISTER_OP_BUILDER("PairwiseDistance", MakePairwiseDistance);

}  // namespace
}  // namespace lanista::ops
