// Every torch.nn operator that has a TorchScript form, once or more, in one model: exported, and compared value by
// value with what GraphModule computes.
#include <ATen/Context.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <set>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/exporters/torchscript/source.h"
#include "src/ops/registry.h"
#include "tests/exporters/exported_model.h"

namespace lanista {
namespace {

struct Row {
  std::string type;
  // "in_channels=4 padding=[1,2] mode='nearest' p=0.5 bias=false size=none"
  std::string attributes;
  // Names of the model's inputs: v [3, 4], s [2, 4, 8], i [2, 4, 8, 8], c [2, 4, 4, 4, 4], ids [2, 3].
  std::string inputs;
  int outputs = 1;
};

const std::vector<Row>& Rows() {
  static const auto* const rows = new std::vector<Row>{
      {"Conv1d", "in_channels=4 out_channels=6 kernel_size=3 stride=2", "s"},
      {"Conv2d", "in_channels=4 out_channels=6 kernel_size=[3,2] padding=[1,0] bias=false", "i"},
      {"Conv2d", "in_channels=4 out_channels=4 kernel_size=3 padding='same' groups=2 dilation=2", "i"},
      {"Conv2d", "in_channels=4 out_channels=4 kernel_size=3 padding=1 padding_mode='reflect'", "i"},
      {"Conv2d", "in_channels=4 out_channels=4 kernel_size=4 padding='same' padding_mode='circular'", "i"},
      {"Conv3d", "in_channels=4 out_channels=2 kernel_size=2", "c"},
      {"ConvTranspose1d", "in_channels=4 out_channels=2 kernel_size=3", "s"},
      {"ConvTranspose2d", "in_channels=4 out_channels=2 kernel_size=3 stride=2 output_padding=1 padding=1", "i"},
      {"ConvTranspose3d", "in_channels=4 out_channels=2 kernel_size=2 bias=false", "c"},
      {"Linear", "in_features=4 out_features=3", "v"},
      {"Linear", "in_features=4 out_features=3 bias=false", "v"},
      {"Bilinear", "in1_features=4 in2_features=4 out_features=2", "v v"},
      {"Identity", "", "v"},
      {"BatchNorm1d", "num_features=4", "s"},
      {"BatchNorm2d", "num_features=4 affine=false", "i"},
      {"BatchNorm2d", "num_features=4 track_running_stats=false", "i"},
      {"BatchNorm2d", "num_features=4 momentum=none", "i"},
      {"BatchNorm3d", "num_features=4 eps=0.01 momentum=0.3", "c"},
      {"InstanceNorm1d", "num_features=4 affine=true", "s"},
      {"InstanceNorm2d", "num_features=4 track_running_stats=true", "i"},
      {"InstanceNorm3d", "num_features=4", "c"},
      {"GroupNorm", "num_groups=2 num_channels=4", "i"},
      {"LayerNorm", "normalized_shape=[8,8]", "i"},
      {"LayerNorm", "normalized_shape=[8] elementwise_affine=false", "s"},
      {"LocalResponseNorm", "size=3", "i"},
      {"MaxPool1d", "kernel_size=2", "s"},
      {"MaxPool2d", "kernel_size=3 stride=2 padding=1 ceil_mode=true", "i"},
      {"MaxPool2d", "kernel_size=2 return_indices=true", "i", 2},
      {"MaxPool3d", "kernel_size=2 stride=1", "c"},
      {"AvgPool1d", "kernel_size=3 padding=1", "s"},
      {"AvgPool2d", "kernel_size=[2,3] count_include_pad=false padding=1", "i"},
      {"AvgPool2d", "kernel_size=2 divisor_override=3", "i"},
      {"AvgPool3d", "kernel_size=2", "c"},
      {"LPPool1d", "norm_type=2 kernel_size=2", "s"},
      {"LPPool2d", "norm_type=2 kernel_size=2", "i"},
      {"AdaptiveAvgPool1d", "output_size=3", "s"},
      {"AdaptiveAvgPool2d", "output_size=[3,2]", "i"},
      {"AdaptiveAvgPool3d", "output_size=2", "c"},
      {"AdaptiveMaxPool1d", "output_size=3", "s"},
      {"AdaptiveMaxPool2d", "output_size=2", "i"},
      {"AdaptiveMaxPool3d", "output_size=2", "c"},
      {"Dropout", "p=0.3", "v"},
      {"Dropout1d", "p=0.3", "s"},
      {"Dropout2d", "p=0.3", "i"},
      {"Dropout3d", "p=0.3", "c"},
      {"AlphaDropout", "p=0.3", "v"},
      {"FeatureAlphaDropout", "p=0.3", "i"},
      {"StochasticDepth", "p=0.4 mode='row'", "i"},
      {"StochasticDepth", "p=0.4 mode='batch'", "i"},
      {"ReLU", "", "v"},
      {"ReLU6", "", "v"},
      {"ELU", "alpha=0.7", "v"},
      {"SELU", "", "v"},
      {"CELU", "alpha=0.7", "v"},
      {"GELU", "", "v"},
      {"GELU", "approximate='tanh'", "v"},
      {"Sigmoid", "", "v"},
      {"Tanh", "", "v"},
      {"Softplus", "beta=2 threshold=10", "v"},
      {"Softsign", "", "v"},
      {"LogSigmoid", "", "v"},
      {"SiLU", "", "v"},
      {"Mish", "", "v"},
      {"Hardswish", "", "v"},
      {"Hardsigmoid", "", "v"},
      {"Hardtanh", "min_val=-0.5 max_val=0.25", "v"},
      {"Hardshrink", "lambd=0.4", "v"},
      {"Softshrink", "lambd=0.4", "v"},
      {"Tanhshrink", "", "v"},
      {"Threshold", "threshold=0.1 value=2.0", "v"},
      {"LeakyReLU", "negative_slope=0.2", "v"},
      {"PReLU", "num_parameters=4", "i"},
      {"RReLU", "", "v"},
      {"GLU", "dim=1", "v"},
      {"Softmax", "dim=1", "v"},
      {"LogSoftmax", "dim=1", "v"},
      {"Softmin", "dim=1", "v"},
      {"Softmax2d", "", "i"},
      {"MultiheadAttention", "embed_dim=8 num_heads=2", "s s s", 2},
      {"MultiheadAttention", "embed_dim=8 num_heads=2 batch_first=true bias=false dropout=0.2", "s s s", 2},
      {"Embedding", "num_embeddings=7 embedding_dim=3 padding_idx=1", "ids"},
      {"ReflectionPad1d", "padding=2", "s"},
      {"ReflectionPad2d", "padding=[1,2,0,1]", "i"},
      {"ReflectionPad3d", "padding=1", "c"},
      {"ReplicationPad1d", "padding=2", "s"},
      {"ReplicationPad2d", "padding=2", "i"},
      {"ReplicationPad3d", "padding=1", "c"},
      {"ConstantPad1d", "padding=1 value=0.5", "s"},
      {"ConstantPad2d", "padding=[1,2,0,1] value=0.5", "i"},
      {"ConstantPad3d", "padding=1 value=0.5", "c"},
      {"ZeroPad2d", "padding=1", "i"},
      {"Flatten", "", "i"},
      {"Flatten", "start_dim=2 end_dim=-1", "i"},
      {"Unflatten", "dim=1 unflattened_size=[2,2]", "i"},
      {"Upsample", "scale_factor=2.0", "i"},
      {"Upsample", "size=[5,6] mode='bilinear' align_corners=true", "i"},
      {"Upsample", "scale_factor=2.0 mode='linear'", "s"},
      {"Upsample", "scale_factor=2.0 mode='trilinear'", "c"},
      {"Upsample", "size=6 mode='bicubic'", "i"},
      {"Upsample", "scale_factor=2.0", "c"},
      {"UpsamplingNearest2d", "scale_factor=3.0", "i"},
      {"UpsamplingBilinear2d", "scale_factor=2.0", "i"},
      {"RNN", "input_size=8 hidden_size=5 nonlinearity='relu'", "s", 2},
      {"GRU", "input_size=8 hidden_size=5 num_layers=2 bidirectional=true batch_first=true", "s", 2},
      {"LSTM", "input_size=8 hidden_size=5 num_layers=2 dropout=0.2", "s", 3},
      {"LSTM", "input_size=8 hidden_size=5 proj_size=3 bias=false", "s", 3},
      {"LSTM", "input_size=8 hidden_size=8 num_layers=2", "s s s", 3},
      {"GRU", "input_size=8 hidden_size=8 num_layers=2", "s s", 2},
      {"RNNCell", "input_size=4 hidden_size=5 nonlinearity='relu'", "v"},
      {"LSTMCell", "input_size=4 hidden_size=5 bias=false", "v", 2},
      {"LSTMCell", "input_size=4 hidden_size=4", "v v v", 2},
      {"GRUCell", "input_size=4 hidden_size=4", "v v"},
      {"PixelShuffle", "upscale_factor=2", "i"},
      {"PixelUnshuffle", "downscale_factor=2", "i"},
      {"ChannelShuffle", "groups=2", "i"},
      {"CosineSimilarity", "dim=1", "v v"},
      {"PairwiseDistance", "p=2.0", "v v"},
      {"Unfold", "kernel_size=3 padding=1", "i"},
      {"Fold", "output_size=[5,3] kernel_size=2", "s"},
  };
  return *rows;
}

v1::Value ParseValue(absl::string_view text) {
  v1::Value value;
  int64_t number = 0;
  double real = 0.0;
  if (text == "none") return value;
  if (text == "true" || text == "false") {
    value.set_b(text == "true");
  } else if (text[0] == '\'') {
    value.set_s(std::string(text.substr(1, text.size() - 2)));
  } else if (text[0] == '[') {
    for (const absl::string_view element : absl::StrSplit(text.substr(1, text.size() - 2), ',')) {
      *value.mutable_list()->add_values() = ParseValue(element);
    }
  } else if (absl::SimpleAtoi(text, &number)) {
    value.set_i(number);
  } else if (absl::SimpleAtod(text, &real)) {
    value.set_f(real);
  }
  return value;
}

void AddInput(v1::Graph* graph, const std::string& name, v1::Tensor::DataType type, const std::vector<int64_t>& dims) {
  v1::Port* const port = graph->add_inputs();
  port->set_name(name);
  *port->mutable_type() = graph::TensorType(type, dims);
}

v1::ModelGraph Zoo(const std::vector<Row>& rows) {
  v1::ModelGraph model;
  model.set_version(1);
  v1::Graph* const graph = model.add_graphs();
  graph->set_name("Zoo");
  AddInput(graph, "v", v1::Tensor::FLOAT32, {3, 4});
  AddInput(graph, "s", v1::Tensor::FLOAT32, {2, 4, 8});
  AddInput(graph, "i", v1::Tensor::FLOAT32, {2, 4, 8, 8});
  AddInput(graph, "c", v1::Tensor::FLOAT32, {2, 4, 4, 4, 4});
  AddInput(graph, "ids", v1::Tensor::INT64, {2, 3});
  for (size_t at = 0; at < rows.size(); ++at) {
    v1::Node* const node = graph->add_nodes();
    node->set_name(absl::StrCat("row", at, "_", rows[at].type));
    node->mutable_op()->set_type(rows[at].type);
    for (const absl::string_view pair : absl::StrSplit(rows[at].attributes, ' ', absl::SkipEmpty())) {
      const std::pair<std::string, std::string> split = absl::StrSplit(pair, '=');
      v1::Attribute* const attribute = node->mutable_op()->add_attr();
      attribute->set_key(split.first);
      *attribute->mutable_value() = ParseValue(split.second);
    }
    for (const absl::string_view input : absl::StrSplit(rows[at].inputs, ' ')) {
      node->add_inputs()->set_node(std::string(input));
    }
    for (int slot = 0; slot < rows[at].outputs; ++slot) {
      v1::Edge* const output = graph->add_outputs();
      output->set_node(node->name());
      output->set_slot(slot);
    }
  }
  return model;
}

std::vector<at::Tensor> Inputs() {
  at::manual_seed(5);
  return {at::randn({3, 4}), at::randn({2, 4, 8}), at::randn({2, 4, 8, 8}), at::randn({2, 4, 4, 4, 4}),
          at::randint(0, 7, {2, 3}, at::kLong)};
}

std::vector<Row> KnownRows() {
  std::vector<Row> rows;
  for (const Row& row : Rows()) {
    if (ops::FindOp(row.type) != nullptr) rows.push_back(row);
  }
  return rows;
}

class ModuleZooTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Formats, ModuleZooTest, testing::Values("python", "torchscript"),
                         [](const auto& info) { return info.param; });

TEST_P(ModuleZooTest, EveryModuleGivesTheSameValuesInBothModes) {
  if (!HasPython("torch")) GTEST_SKIP() << "/usr/bin/python3 has no torch";
  const auto module = BuildModel(Zoo(KnownRows()));
  const std::string folder = TestFolder("zoo_" + GetParam());
  const auto files = exporters::WriteModel(*module, GetParam(), folder + "/net");
  ASSERT_TRUE(files.ok()) << files.status();
  const std::vector<at::Tensor> inputs = Inputs();
  WriteTensors(folder + "/data.pt",
               {{"inputs", inputs}, {"outputs", Evaluate(*module, inputs)}, {"training", Train(*module, inputs)}});
  EXPECT_EQ(CheckExport(folder, "net", GetParam()), "");
}

TEST(ModuleZoo, EveryOperatorWithAClassOfTorchIsInIt) {
  std::set<std::string> rows;
  for (const Row& row : Rows()) rows.insert(row.type);
  for (const std::string& type : ops::OpTypes()) {
    if (exporters::TorchClass(*ops::FindOp(type)) == absl::StrCat("torch.nn.", type)) continue;
    EXPECT_EQ(rows.count(type), 1) << type << " has a TorchScript form: add a row";
  }
}

// Every single module, so that a failure names it; the writer runs ONNX's checker.
TEST(ModuleZoo, OnnxIsValidOrRefused) {
  for (const Row& row : KnownRows()) {
    if (row.outputs > 1) continue;
    const auto module = BuildModel(Zoo({row}));
    const auto files = exporters::WriteModel(*module, "onnx", TestFolder("zoo_onnx") + "/net");
    EXPECT_TRUE(files.ok() || files.status().code() == absl::StatusCode::kUnimplemented)
        << row.type << " " << row.attributes << ": " << files.status();
  }
}

}  // namespace
}  // namespace lanista
