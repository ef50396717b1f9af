// Initial weights as torch.nn's documentation says, and values where a module has more than one way to be used.
#include <torch/nn/modules/activation.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"
#include "tests/ops/module_rows.h"

namespace lanista::ops {
namespace {

using ::testing::HasSubstr;

// A model of this one node.
v1::ModelGraph ModelOf(const ModuleRow& row) {
  v1::ModelGraph model;
  model.set_version(1);
  v1::Graph* const graph = model.add_graphs();
  graph->set_name("Net");
  v1::Node* const node = graph->add_nodes();
  *node = NodeOf(row, row.inputs);
  for (const v1::Edge& edge : node->inputs()) graph->add_inputs()->set_name(edge.node());
  const graph::OpSchema& schema = *FindOp(row.type);
  for (int slot = 0; slot < schema.NumOutputs(graph::Attributes(schema, node->op())); ++slot) {
    v1::Edge* const output = graph->add_outputs();
    output->set_node(node->name());
    output->set_slot(slot);
  }
  return model;
}

std::shared_ptr<runtime::GraphModule> Build(const ModuleRow& row) {
  torch::manual_seed(11);
  const v1::ModelGraph model = ModelOf(row);
  const absl::Status valid = graph::Validate(model, FindOp);
  EXPECT_TRUE(valid.ok()) << valid;
  auto module = runtime::GraphModule::Create(model, {});
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *module : nullptr;
}

// A parameter of the only module.
torch::Tensor Weight(const runtime::GraphModule& module, const std::string& name) {
  return module.named_parameters()["module." + name].detach();
}

std::vector<c10::IValue> Forward(runtime::GraphModule& module, const std::vector<torch::Tensor>& inputs) {
  return module.Run({inputs.begin(), inputs.end()});
}

// Drawn evenly from [-bound, bound].
void ExpectUniform(const torch::Tensor& weight, double bound) {
  EXPECT_LE(weight.abs().max().item<double>(), bound * 1.000001);
  EXPECT_GE(weight.abs().max().item<double>(), bound * 0.9);
  EXPECT_NEAR(weight.mean().item<double>(), 0, bound * 0.1);
  EXPECT_NEAR(weight.std().item<double>(), bound / std::sqrt(3.0), bound * 0.06);
}

// ---- Initial weights ----

TEST(InitialWeights, OfConvolutionsAreUniformByFanIn) {
  const auto conv = Build({"Conv2d", "in_channels=16 out_channels=32 kernel_size=3 groups=2", "2x16x8x8"});
  ExpectUniform(Weight(*conv, "weight"), 1 / std::sqrt(8 * 9.0));
  EXPECT_LE(Weight(*conv, "bias").abs().max().item<double>(), 1 / std::sqrt(8 * 9.0));
  // Transposed: the fan-in is counted over the weight's second dimension.
  const auto transposed = Build({"ConvTranspose2d", "in_channels=16 out_channels=32 kernel_size=3", "2x16x8x8"});
  ExpectUniform(Weight(*transposed, "weight"), 1 / std::sqrt(32 * 9.0));
}

TEST(InitialWeights, OfLinearLayersAreUniformByFanIn) {
  const auto linear = Build({"Linear", "in_features=64 out_features=100", "2x64"});
  ExpectUniform(Weight(*linear, "weight"), 1.0 / 8);
  ExpectUniform(Weight(*linear, "bias"), 1.0 / 8);
  const auto bilinear = Build({"Bilinear", "in1_features=64 in2_features=5 out_features=20", "2x64 2x5"});
  ExpectUniform(Weight(*bilinear, "weight"), 1.0 / 8);
}

TEST(InitialWeights, OfRecurrentNetworksAreUniformByHiddenSize) {
  for (const char* const type : {"RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"}) {
    SCOPED_TRACE(type);
    const auto module = Build({type, "input_size=20 hidden_size=64", "4x20"});
    for (const auto& item : module->named_parameters()) {
      SCOPED_TRACE(item.key());
      EXPECT_LE(item.value().abs().max().item<double>(), 1.0 / 8);
    }
    ExpectUniform(Weight(*module, std::string(type).size() > 4 ? "weight_hh" : "weight_hh_l0"), 1.0 / 8);
  }
}

TEST(InitialWeights, OfEmbeddingsAreNormalAndZeroForPadding) {
  for (const char* const type : {"Embedding", "EmbeddingBag"}) {
    SCOPED_TRACE(type);
    const auto module = Build({type, "num_embeddings=100 embedding_dim=64 padding_idx=3", "100:2x3"});
    const torch::Tensor weight = Weight(*module, "weight");
    EXPECT_EQ(weight[3].abs().max().item<double>(), 0);
    EXPECT_NEAR(weight.mean().item<double>(), 0, 0.05);
    EXPECT_NEAR(weight.std().item<double>(), 1, 0.05);
    EXPECT_GE(weight.abs().max().item<double>(), 2.5);
  }
}

TEST(InitialWeights, OfAttentionAreXaviersWithoutBias) {
  const auto packed = Build({"MultiheadAttention", "embed_dim=64 num_heads=4", "5x2x64 5x2x64 5x2x64"});
  ExpectUniform(Weight(*packed, "in_proj_weight"), std::sqrt(6.0 / (64 + 3 * 64)));
  ExpectUniform(Weight(*packed, "out_proj.weight"), 1.0 / 8);
  EXPECT_EQ(Weight(*packed, "in_proj_bias").abs().max().item<double>(), 0);
  EXPECT_EQ(Weight(*packed, "out_proj.bias").abs().max().item<double>(), 0);
  const auto apart =
      Build({"MultiheadAttention", "embed_dim=64 num_heads=4 kdim=32 add_bias_kv=true", "5x2x64 5x2x32 5x2x64"});
  ExpectUniform(Weight(*apart, "k_proj_weight"), std::sqrt(6.0 / (64 + 32)));
  EXPECT_GT(Weight(*apart, "bias_k").abs().max().item<double>(), 0);
}

TEST(InitialWeights, OfNormalisationsAreOnesAndZeros) {
  for (const char* const attributes : {"num_features=8", "num_features=8 momentum=none"}) {
    const auto module = Build({"BatchNorm2d", attributes, "2x8x4x4"});
    EXPECT_TRUE(Weight(*module, "weight").eq(1).all().item<bool>());
    EXPECT_TRUE(Weight(*module, "bias").eq(0).all().item<bool>());
    EXPECT_TRUE(module->named_buffers()["module.running_var"].eq(1).all().item<bool>());
  }
  const auto prelu = Build({"PReLU", "num_parameters=3 init=0.1", "2x3"});
  EXPECT_TRUE(Weight(*prelu, "weight").allclose(torch::full({3}, 0.1)));
}

// ---- Recurrent networks ----

TEST(RecurrentValues, ASequenceAloneIsABatchOfOne) {
  for (const char* const batch_first : {"false", "true"}) {
    for (const char* const type : {"RNN", "GRU", "LSTM"}) {
      SCOPED_TRACE(absl::StrCat(type, batch_first));
      const std::string attributes = absl::StrCat("input_size=3 hidden_size=4 num_layers=2 batch_first=", batch_first);
      const auto module = Build({type, attributes, "6x3"});
      const int64_t axis = batch_first[0] == 't' ? 0 : 1;
      const torch::Tensor x = torch::randn({6, 3});
      const auto alone = Forward(*module, {x}), batch = Forward(*module, {x.unsqueeze(axis)});
      EXPECT_TRUE(alone[0].toTensor().allclose(batch[0].toTensor().squeeze(axis)));
      for (size_t i = 1; i < alone.size(); ++i) {
        EXPECT_TRUE(alone[i].toTensor().allclose(batch[i].toTensor().squeeze(1))) << i;
      }
    }
  }
}

TEST(RecurrentValues, StatesCarryASequenceOn) {
  const ModuleRow start = {"LSTM", "input_size=3 hidden_size=4 num_layers=2", "6x2x3"};
  const ModuleRow from_states = {"LSTM", start.attributes, "3x2x3 2x2x4 2x2x4"};
  const auto whole = Build(start), parts = Build(from_states);
  const torch::Tensor x = torch::randn({6, 2, 3});
  const auto expected = Forward(*whole, {x});
  const auto first = Forward(*whole, {x.narrow(0, 0, 3)});
  const auto second = Forward(*parts, {x.narrow(0, 3, 3), first[1].toTensor(), first[2].toTensor()});
  EXPECT_TRUE(second[0].toTensor().allclose(expected[0].toTensor().narrow(0, 3, 3), 1e-5, 1e-6));
  EXPECT_TRUE(second[1].toTensor().allclose(expected[1].toTensor(), 1e-5, 1e-6));
  EXPECT_TRUE(second[2].toTensor().allclose(expected[2].toTensor(), 1e-5, 1e-6));
}

TEST(RecurrentValues, LstmTakesBothStatesOrNone) {
  v1::ModelGraph model = ModelOf({"LSTM", "input_size=3 hidden_size=4", "6x2x3 1x2x4"});
  *model.mutable_graphs(0)->mutable_inputs(0)->mutable_type() = graph::TensorType(v1::Tensor::FLOAT32, {6, 2, 3});
  const absl::Status status = graph::InferTypes(&model, FindOp);
  EXPECT_THAT(std::string(status.message()), HasSubstr("with 2 initial states; gets 1"));
}

// ---- Attention ----

constexpr char kAttention[] = "embed_dim=8 num_heads=2 batch_first=true";

TEST(AttentionValues, AreThoseOfLibTorch) {
  const auto ours =
      Build({"MultiheadAttention", "embed_dim=8 num_heads=2 kdim=6 vdim=6 add_bias_kv=true add_zero_attn=true",
             "4x3x8 5x3x6 5x3x6 key_padding_mask=bool:3x5"});
  torch::nn::MultiheadAttention theirs(
      torch::nn::MultiheadAttentionOptions(8, 2).kdim(6).vdim(6).add_bias_kv(true).add_zero_attn(true));
  torch::NoGradGuard no_grad;
  for (auto& item : theirs->named_parameters()) item.value().copy_(Weight(*ours, item.key()));
  const torch::Tensor q = torch::randn({4, 3, 8}), k = torch::randn({5, 3, 6}), v = torch::randn({5, 3, 6});
  torch::Tensor mask = torch::zeros({3, 5}, torch::kBool);
  mask[1][4] = true;
  const auto actual = Forward(*ours, {q, k, v, mask});
  const auto [out, weights] = theirs->forward(q, k, v, mask);
  EXPECT_TRUE(actual[0].toTensor().allclose(out, 1e-5, 1e-6));
  EXPECT_TRUE(actual[1].toTensor().allclose(weights, 1e-5, 1e-6));
}

TEST(AttentionValues, MaskedKeysCountNothing) {
  const torch::Tensor x = torch::randn({2, 5, 8});
  const auto plain = Build({"MultiheadAttention", kAttention, "2x5x8 2x3x8 2x3x8"});
  const torch::Tensor first_keys = x.narrow(1, 0, 3);
  const torch::Tensor expected = Forward(*plain, {x, first_keys, first_keys})[0].toTensor();
  const torch::Tensor last = torch::tensor({false, false, false, true, true});
  const auto by_padding = Build({"MultiheadAttention", kAttention, "2x5x8 2x5x8 2x5x8 key_padding_mask=bool:2x5"});
  EXPECT_TRUE(Forward(*by_padding, {x, x, x, last.expand({2, 5})})[0].toTensor().allclose(expected, 1e-5, 1e-6));
  const auto by_mask = Build({"MultiheadAttention", kAttention, "2x5x8 2x5x8 2x5x8 attn_mask=bool:5x5"});
  EXPECT_TRUE(Forward(*by_mask, {x, x, x, last.expand({5, 5})})[0].toTensor().allclose(expected, 1e-5, 1e-6));
  // As numbers that are added, one for each head.
  const torch::Tensor added = torch::zeros({4, 5, 5}).masked_fill(last, -INFINITY);
  EXPECT_TRUE(Forward(*by_mask, {x, x, x, added})[0].toTensor().allclose(expected, 1e-5, 1e-6));
}

TEST(AttentionValues, WeightsAreAveragedKeptByHeadOrLeftOut) {
  const torch::Tensor x = torch::randn({2, 5, 8});
  const std::string inputs = "2x5x8 2x5x8 2x5x8";
  const auto average = Build({"MultiheadAttention", kAttention, inputs});
  const auto heads = Build({"MultiheadAttention", absl::StrCat(kAttention, " average_attn_weights=false"), inputs});
  const auto none = Build({"MultiheadAttention", absl::StrCat(kAttention, " need_weights=false"), inputs});
  const torch::Tensor all = Forward(*heads, {x, x, x})[1].toTensor();
  EXPECT_EQ(all.sizes(), (std::vector<int64_t>{2, 2, 5, 5}));
  EXPECT_TRUE(all.sum(-1).allclose(torch::ones({2, 2, 5})));
  EXPECT_TRUE(Forward(*average, {x, x, x})[1].toTensor().allclose(all.mean(1), 1e-5, 1e-6));
  EXPECT_TRUE(Forward(*none, {x, x, x})[1].isNone());
}

TEST(AttentionValues, AnInputMayComeOnce) {
  v1::ModelGraph model = ModelOf({"MultiheadAttention", kAttention, "2x5x8 2x5x8 2x5x8 attn_mask=5x5 attn_mask=5x5"});
  const auto module = runtime::GraphModule::Create(model, {});
  EXPECT_THAT(std::string(module.status().message()), HasSubstr("in the place of another"));
}

// ---- In place ----

TEST(InplaceValues, ChangeTheInput) {
  for (const char* const type : {"ReLU", "SiLU", "Mish", "Hardswish", "Hardsigmoid", "Hardtanh"}) {
    const auto module = Build({type, "inplace=true", "3x4"});
    torch::Tensor x = torch::randn({3, 4});
    const torch::Tensor y = Forward(*module, {x})[0].toTensor();
    EXPECT_TRUE(y.is_same(x)) << type;
  }
}

}  // namespace
}  // namespace lanista::ops
