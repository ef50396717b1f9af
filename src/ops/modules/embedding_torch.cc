// Builds embeddings.
#include <ATen/core/grad_mode.h>
#include <torch/nn/modules/embedding.h>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;

// The options that both kinds have.
template <typename Options>
Options CommonOptions(const Attributes& a) {
  Options options(a.Int("num_embeddings"), a.Int("embedding_dim"));
  if (a.Has("padding_idx")) options.padding_idx(a.Int("padding_idx"));
  if (a.Has("max_norm")) options.max_norm(a.Float("max_norm"));
  options.norm_type(a.Float("norm_type")).scale_grad_by_freq(a.Bool("scale_grad_by_freq")).sparse(a.Bool("sparse"));
  return options;
}

std::unique_ptr<OpModule> MakeEmbedding(const Attributes& a) {
  return MakeUnary(nn::Embedding(CommonOptions<nn::EmbeddingOptions>(a)));
}

std::unique_ptr<OpModule> MakeEmbeddingBag(const Attributes& a) {
  auto options = CommonOptions<nn::EmbeddingBagOptions>(a);
  options.include_last_offset(a.Bool("include_last_offset"));
  const std::string mode = a.String("mode");
  if (mode == "sum") options.mode(torch::kSum);
  if (mode == "max") options.mode(torch::kMax);
  nn::EmbeddingBag module(options);
  if (a.Has("padding_idx")) {
    // Python does this; LibTorch does not.
    const at::NoGradGuard no_grad;
    module->weight[a.Int("padding_idx")].zero_();
  }
  return MakeModuleOp(module, [](nn::EmbeddingBagImpl& bag, Inputs inputs, c10::IValue* outputs) {
    *outputs = bag.forward(inputs[0].toTensor(), inputs.size() > 1 ? inputs[1].toTensor() : torch::Tensor());
  });
}

LANISTA_REGISTER_OP_BUILDER("Embedding", MakeEmbedding);
LANISTA_REGISTER_OP_BUILDER("EmbeddingBag", MakeEmbeddingBag);

}  // namespace
}  // namespace lanista::ops
