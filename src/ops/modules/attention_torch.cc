// Builds multi-head attention. LibTorch's own forward supports no batch_first, no unbatched sequence and no boolean
// attn_mask. So this uses the parameters of LibTorch's module, and computes like Python's forward.
#include <torch/nn/modules/activation.h>

#include <cmath>
#include <limits>

#include "src/ops/modules/module_torch.h"

namespace lanista::ops {
namespace {

namespace nn = torch::nn;
using torch::Tensor;

// Positions of the optional masks among Run's inputs; query, key and value come first.
constexpr size_t kPaddingMask = 3, kAttentionMask = 4;

class AttentionOp final : public OpModule {
 public:
  explicit AttentionOp(const Attributes& a)
      : batch_first_(a.Bool("batch_first")),
        need_weights_(a.Bool("need_weights")),
        average_(a.Bool("average_attn_weights")),
        heads_(a.Int("num_heads")) {
    nn::MultiheadAttentionOptions options(a.Int("embed_dim"), heads_);
    options.dropout(a.Float("dropout"))
        .bias(a.Bool("bias"))
        .add_bias_kv(a.Bool("add_bias_kv"))
        .add_zero_attn(a.Bool("add_zero_attn"))
        .kdim(a.Int(a.Has("kdim") ? "kdim" : "embed_dim"))
        .vdim(a.Int(a.Has("vdim") ? "vdim" : "embed_dim"));
    module_ = nn::MultiheadAttention(options).ptr();
  }

  int Position(absl::string_view argument) const override {
    if (argument == "key_padding_mask") return kPaddingMask;
    if (argument == "attn_mask") return kAttentionMask;
    return -1;
  }

  void Run(Inputs inputs, c10::IValue* outputs) override {
    const Tensor &query = inputs[0].toTensor(), &key = inputs[1].toTensor(), &value = inputs[2].toTensor();
    const bool batched = query.dim() == 3;
    Tensor q, k, v;
    Project(query, key, value, &q, &k, &v);
    // [batch, heads, length, features]
    const int64_t batch = q.size(0), length = q.size(1), given_keys = k.size(1);
    if (module_->bias_k.defined()) {
      k = torch::cat({k, module_->bias_k.expand({batch, 1, -1})}, 1);
      v = torch::cat({v, module_->bias_v.expand({batch, 1, -1})}, 1);
    }
    q = Heads(q);
    k = Heads(k);
    v = Heads(v);
    if (module_->options.add_zero_attn()) {
      k = torch::constant_pad_nd(k, {0, 0, 0, 1});
      v = torch::constant_pad_nd(v, {0, 0, 0, 1});
    }
    Tensor scores = torch::matmul(q / std::sqrt(static_cast<double>(q.size(3))), k.transpose(2, 3));
    const int64_t added_keys = k.size(2) - given_keys;
    if (inputs.size() > kAttentionMask && !inputs[kAttentionMask].isNone()) {
      Tensor mask = inputs[kAttentionMask].toTensor();
      if (mask.dim() == 3) mask = mask.view({batch, heads_, mask.size(1), mask.size(2)});
      scores = Mask(scores, mask, added_keys);
    }
    if (inputs.size() > kPaddingMask && !inputs[kPaddingMask].isNone()) {
      const Tensor mask = inputs[kPaddingMask].toTensor();
      scores = Mask(scores, mask.reshape({batch, 1, 1, -1}), added_keys);
    }
    const Tensor weights =
        torch::dropout(torch::softmax(scores, -1), module_->options.dropout(), module_->is_training());
    // As in PyTorch, the sequence is the first dimension in memory, because dropout draws its numbers in that order.
    Tensor out = torch::matmul(weights, v).permute({2, 0, 1, 3}).reshape({length, batch, -1});
    out = module_->out_proj->forward(out);
    outputs[0] = !batched ? out.squeeze(1) : batch_first_ ? out.transpose(0, 1) : out;
    if (!need_weights_) {
      outputs[1] = c10::IValue();
      return;
    }
    const Tensor shown = average_ ? weights.mean(1) : weights;
    outputs[1] = batched ? shown : shown.squeeze(0);
  }

  std::shared_ptr<nn::Module> module() const override { return module_; }

 private:
  Tensor BatchFirst(const Tensor& x) const {
    if (x.dim() == 2) return x.unsqueeze(0);
    TORCH_CHECK(x.dim() == 3, "expects 2 or 3 dimensions, gets ", x.dim());
    return batch_first_ ? x : x.transpose(0, 1);
  }

  void Project(const Tensor& query, const Tensor& key, const Tensor& value, Tensor* q, Tensor* k, Tensor* v) const {
    const Tensor &weight = module_->in_proj_weight, &bias = module_->in_proj_bias;
    if (weight.defined() && query.is_same(key) && key.is_same(value)) {
      // Self-attention: one product for all three.
      const std::vector<Tensor> parts = torch::linear(BatchFirst(query), weight, bias).chunk(3, -1);
      *q = parts[0];
      *k = parts[1];
      *v = parts[2];
      return;
    }
    std::vector<Tensor> weights = {module_->q_proj_weight, module_->k_proj_weight, module_->v_proj_weight};
    if (weight.defined()) weights = weight.chunk(3);
    const std::vector<Tensor> biases = bias.defined() ? bias.chunk(3) : std::vector<Tensor>(3);
    *q = torch::linear(BatchFirst(query), weights[0], biases[0]);
    *k = torch::linear(BatchFirst(key), weights[1], biases[1]);
    *v = torch::linear(BatchFirst(value), weights[2], biases[2]);
  }

  Tensor Heads(const Tensor& x) const { return x.reshape({x.size(0), x.size(1), heads_, -1}).transpose(1, 2); }

  // Keys that the module adds are never masked.
  static Tensor Mask(const Tensor& scores, const Tensor& mask, int64_t added_keys) {
    const Tensor whole = added_keys > 0 ? torch::constant_pad_nd(mask, {0, added_keys}) : mask;
    if (mask.is_floating_point()) return scores + whole;
    return scores.masked_fill(whole.to(torch::kBool), -std::numeric_limits<double>::infinity());
  }

  const bool batch_first_;
  const bool need_weights_;
  const bool average_;
  const int64_t heads_;
  std::shared_ptr<nn::MultiheadAttentionImpl> module_;
};

LANISTA_REGISTER_OP_BUILDER("MultiheadAttention", [](const Attributes& a) { return std::make_unique<AttentionOp>(a); });

}  // namespace
}  // namespace lanista::ops
