// Builds dropouts.
#include <torch/nn/modules/dropout.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

template <typename Module>
std::unique_ptr<OpModule> MakeDropout(const Attributes& a) {
  return MakeUnary(Module(nn::DropoutOptions(a.Float("p")).inplace(a.Bool("inplace"))));
}

// Drops channels. As in Python, and unlike LibTorch's Dropout3d, an input of `rank` - 1 dimensions has no batch.
class ChannelDropoutImpl : public nn::Module {
 public:
  ChannelDropoutImpl(double p, bool inplace, int64_t rank) : p_(p), inplace_(inplace), rank_(rank) {}

  torch::Tensor forward(const torch::Tensor& input) {
    if (input.dim() == rank_ - 1) return Drop(input.unsqueeze(0)).squeeze(0);
    TORCH_CHECK(input.dim() == rank_, "expects ", rank_ - 1, " or ", rank_, " dimensions, gets ", input.dim());
    return Drop(input);
  }

 private:
  torch::Tensor Drop(torch::Tensor input) {
    return inplace_ ? torch::feature_dropout_(input, p_, is_training())
                    : torch::feature_dropout(input, p_, is_training());
  }

  const double p_;
  const bool inplace_;
  const int64_t rank_;
};
TORCH_MODULE(ChannelDropout);

template <int64_t kRank>
std::unique_ptr<OpModule> MakeChannelDropout(const Attributes& a) {
  return MakeUnary(ChannelDropout(a.Float("p"), a.Bool("inplace"), kRank));
}

// torchvision.ops.StochasticDepth (Huang et al. 2016): drops the whole input, for each sample ("row") or for the whole
// batch.
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

LANISTA_REGISTER_OP_BUILDER("Dropout", MakeDropout<nn::Dropout>);
LANISTA_REGISTER_OP_BUILDER("Dropout1d", MakeChannelDropout<3>);
LANISTA_REGISTER_OP_BUILDER("Dropout2d", MakeDropout<nn::Dropout2d>);
LANISTA_REGISTER_OP_BUILDER("Dropout3d", MakeChannelDropout<5>);
LANISTA_REGISTER_OP_BUILDER("AlphaDropout", MakeDropout<nn::AlphaDropout>);
LANISTA_REGISTER_OP_BUILDER("FeatureAlphaDropout", MakeDropout<nn::FeatureAlphaDropout>);
LANISTA_REGISTER_OP_BUILDER("StochasticDepth", MakeStochasticDepth);

}  // namespace
}  // namespace lanista::ops
