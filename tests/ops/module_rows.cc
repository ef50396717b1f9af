#include "tests/ops/module_rows.h"

#include <ATen/ops/rand.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "src/graph/op_schema.h"

namespace lanista::ops {
namespace {

v1::Value ParseValue(absl::string_view text) {
  v1::Value value;
  int64_t number = 0;
  double real = 0;
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

// "attn_mask=bool:3x3" -> its parts; what is not there is empty.
struct InputText {
  explicit InputText(absl::string_view text) {
    if (const size_t equals = text.find('='); equals != text.npos) {
      argument = std::string(text.substr(0, equals));
      text.remove_prefix(equals + 1);
    }
    if (const size_t colon = text.find(':'); colon != text.npos) {
      kind = std::string(text.substr(0, colon));
      text.remove_prefix(colon + 1);
    }
    for (const absl::string_view size : absl::StrSplit(text, 'x')) {
      dims.emplace_back();
      if (!absl::SimpleAtoi(size, &dims.back())) dims.pop_back();
    }
  }
  std::string argument;
  std::string kind;
  std::vector<int64_t> dims;
};

}  // namespace

const std::vector<ModuleRow>& ModuleRows() {
  static const auto* const rows = new std::vector<ModuleRow>{
      {"Conv1d", "in_channels=4 out_channels=6 kernel_size=3 stride=2", "2x4x8", "2x5x8"},
      {"Conv2d", "in_channels=4 out_channels=6 kernel_size=[3,2] padding=[1,0] bias=false", "2x4x8x8", "2x3x8x8"},
      {"Conv2d", "in_channels=4 out_channels=4 kernel_size=3 padding='same' groups=2 dilation=2", "2x4x8x8", "2x4x8"},
      {"Conv2d", "in_channels=4 out_channels=4 kernel_size=3 padding=1 padding_mode='reflect'", "4x8x8", "8x4x8"},
      {"Conv3d", "in_channels=4 out_channels=2 kernel_size=2", "2x4x4x4x4", "2x2x4x4x4"},
      {"ConvTranspose1d", "in_channels=4 out_channels=2 kernel_size=3", "2x4x8", "2x2x8"},
      {"ConvTranspose2d", "in_channels=4 out_channels=2 kernel_size=3 stride=2 output_padding=1 padding=1", "2x4x8x8",
       "2x2x8x8"},
      {"ConvTranspose3d", "in_channels=4 out_channels=2 kernel_size=2 bias=false", "2x4x4x4x4", "2x2x4x4x4"},
      {"Linear", "in_features=4 out_features=3", "3x4", "3x5"},
      {"Linear", "in_features=4 out_features=3 bias=false", "2x3x4", "2x3x2"},
      {"Bilinear", "in1_features=4 in2_features=5 out_features=2", "3x4 3x5", "3x4 3x4"},
      {"Bilinear", "in1_features=4 in2_features=4 out_features=2 bias=false", "2x3x4 2x3x4", "2x3x4 3x3x4"},
      {"Identity", "", "3x4"},
      {"CosineSimilarity", "dim=1", "3x4 3x4", "3x4 3x5"},
      {"CosineSimilarity", "dim=-1", "2x3x4 1x3x4", "2x3x4 4x3x4"},
      {"PairwiseDistance", "p=1.0", "3x4 3x4", "3x4 3x5"},
      {"PairwiseDistance", "keepdim=true", "3x4 3x4", "3x4 2x4"},
      {"BatchNorm1d", "num_features=4", "3x4", "3x5"},
      {"BatchNorm1d", "num_features=4 affine=false", "2x4x8", "2x3x8"},
      {"BatchNorm2d", "num_features=4 momentum=none", "2x4x8x8", "2x4x8"},
      {"BatchNorm2d", "num_features=4 track_running_stats=false", "2x4x8x8", "2x3x8x8"},
      {"BatchNorm3d", "num_features=4 eps=0.01 momentum=0.3", "2x4x4x4x4", "2x3x4x4x4"},
      {"InstanceNorm1d", "num_features=4 affine=true", "2x4x8", "2x3x8"},
      {"InstanceNorm2d", "num_features=4 track_running_stats=true", "2x4x8x8", "2x3x8x8"},
      {"InstanceNorm3d", "num_features=4 affine=true track_running_stats=true", "2x4x4x4x4", "2x3x4x4x4"},
      {"GroupNorm", "num_groups=2 num_channels=4", "2x4x8x8", "2x6x8x8"},
      {"LayerNorm", "normalized_shape=[8,8]", "2x4x8x8", "2x4x8x7"},
      {"LayerNorm", "normalized_shape=[8] elementwise_affine=false", "2x4x8", "2x4x7"},
      {"LocalResponseNorm", "size=3", "2x4x8x8", "2x4"},
      {"MaxPool1d", "kernel_size=2", "2x4x8", "2x4x1"},
      {"MaxPool2d", "kernel_size=3 stride=2 padding=1 ceil_mode=true", "2x4x8x8", "2x4"},
      {"MaxPool2d", "kernel_size=2 return_indices=true", "2x4x8x8", "2x4x1x8"},
      {"MaxPool3d", "kernel_size=2 stride=1", "2x4x4x4x4", "2x4x4x4x1"},
      {"MaxUnpool1d", "kernel_size=2", "2x4x4 8:2x4x4", "2x4x4 8:2x4x3"},
      {"MaxUnpool2d", "kernel_size=2 stride=3 padding=1", "2x4x4x4 36:2x4x4x4", "2x4 36:2x4"},
      {"MaxUnpool3d", "kernel_size=2", "2x4x2x2x2 64:2x4x2x2x2", "2x4x2 64:2x4x2"},
      {"FractionalMaxPool2d", "kernel_size=2 output_size=[3,4]", "2x4x8x8", "2x4x3x8"},
      {"FractionalMaxPool2d", "kernel_size=3 output_ratio=0.5 return_indices=true", "2x4x8x8", "2x4"},
      {"FractionalMaxPool3d", "kernel_size=2 output_ratio=[0.5,0.5,0.25]", "2x4x8x8x8", "2x4"},
      {"AvgPool1d", "kernel_size=3 padding=1", "2x4x8", "8"},
      {"AvgPool2d", "kernel_size=[2,3] count_include_pad=false padding=1", "2x4x8x8", "2x4"},
      {"AvgPool2d", "kernel_size=2 divisor_override=3", "4x8x8", "4x1x8"},
      {"AvgPool3d", "kernel_size=2", "2x4x4x4x4", "2x4x1x4x4"},
      {"LPPool1d", "norm_type=2 kernel_size=2", "2x4x8", "2x4x1"},
      {"LPPool2d", "norm_type=2.0 kernel_size=2 ceil_mode=true", "2x4x7x8", "2x4"},
      {"AdaptiveAvgPool1d", "output_size=3", "2x4x8", "8"},
      {"AdaptiveAvgPool2d", "output_size=[3,none]", "2x4x8x8", "2x4"},
      {"AdaptiveAvgPool3d", "output_size=2", "2x4x4x4x4", "2x4x4"},
      {"AdaptiveMaxPool1d", "output_size=3", "2x4x8", "8"},
      {"AdaptiveMaxPool2d", "output_size=2", "2x4x8x8", "2x4"},
      {"AdaptiveMaxPool2d", "output_size=[2,3] return_indices=true", "2x4x8x8", "2x4"},
      {"AdaptiveMaxPool3d", "output_size=2", "2x4x4x4x4", "2x4x4"},
      {"Dropout", "p=0.3", "3x4"},
      {"Dropout", "p=0.3 inplace=true", "3x4"},
      {"Dropout1d", "p=0.3", "2x4x8", "8"},
      {"Dropout2d", "p=0.3", "2x4x8x8"},
      {"Dropout3d", "p=0.3", "2x4x4x4x4"},
      {"AlphaDropout", "p=0.3", "3x4"},
      {"FeatureAlphaDropout", "p=0.3", "2x4x8x8"},
      {"StochasticDepth", "p=0.4 mode='row'", "2x4x8x8"},
      {"ReLU", "inplace=true", "3x4"},
      {"ReLU6", "", "3x4"},
      {"ELU", "alpha=0.7", "3x4"},
      {"SELU", "", "3x4"},
      {"CELU", "alpha=0.7", "3x4"},
      {"GELU", "approximate='tanh'", "3x4"},
      {"Sigmoid", "", "3x4"},
      {"Tanh", "", "3x4"},
      {"Softplus", "beta=2 threshold=10", "3x4"},
      {"Softsign", "", "3x4"},
      {"LogSigmoid", "", "3x4"},
      {"SiLU", "inplace=true", "3x4"},
      {"Mish", "", "3x4"},
      {"Hardswish", "inplace=true", "3x4"},
      {"Hardsigmoid", "", "3x4"},
      {"Hardtanh", "min_val=-0.5 max_val=0.25", "3x4"},
      {"Hardshrink", "lambd=0.4", "3x4"},
      {"Softshrink", "lambd=0.4", "3x4"},
      {"Tanhshrink", "", "3x4"},
      {"Threshold", "threshold=0.1 value=2.0", "3x4"},
      {"LeakyReLU", "negative_slope=0.2", "3x4"},
      {"PReLU", "num_parameters=4", "2x4x8x8", "2x3x8x8"},
      {"RReLU", "lower=0.1 upper=0.2", "3x4"},
      {"GLU", "dim=1", "3x4", "3x5"},
      {"Softmax", "dim=1", "3x4", "4"},
      {"LogSoftmax", "dim=-2", "3x4", "4"},
      {"Softmin", "dim=1", "3x4", "4"},
      {"Softmax2d", "", "2x4x8x8", "2x4"},
      {"Embedding", "num_embeddings=7 embedding_dim=3 padding_idx=1", "7:2x3"},
      {"EmbeddingBag", "num_embeddings=7 embedding_dim=3", "7:2x5", "7:2x5x2"},
      {"EmbeddingBag", "num_embeddings=7 embedding_dim=3 mode='sum' padding_idx=2", "7:9 1:3", "7:2x5 1:2"},
      {"EmbeddingBag", "num_embeddings=7 embedding_dim=3 mode='max'", "7:2x5"},
      {"ReflectionPad1d", "padding=2", "2x4x8", "2x4x2"},
      {"ReflectionPad2d", "padding=[1,2,0,1]", "2x4x8x8", "2x4x1x1"},
      {"ReflectionPad3d", "padding=1", "2x4x4x4x4", "2x4x1x4x4"},
      {"ReplicationPad1d", "padding=2", "2x4x8", "8"},
      {"ReplicationPad2d", "padding=2", "2x4x8x8", "2x4"},
      {"ReplicationPad3d", "padding=1", "2x4x4x4x4", "2x4x4"},
      {"ConstantPad1d", "padding=1 value=0.5", "2x4x8"},
      {"ConstantPad2d", "padding=[1,2,0,-1] value=0.5", "2x4x8x8", "8"},
      {"ConstantPad3d", "padding=1 value=0.5", "2x4x4x4x4", "4x4"},
      {"ZeroPad2d", "padding=1", "2x4x8x8", "8"},
      {"Flatten", "", "2x4x8x8", "4"},
      {"Flatten", "start_dim=2 end_dim=-1", "2x4x8x8", "2x4"},
      {"Unflatten", "dim=1 unflattened_size=[2,2]", "2x4x8x8", "2x6x8x8"},
      {"Unflatten", "dim=-1 unflattened_size=[2,-1]", "2x4x8", "2x4x7"},
      {"PixelShuffle", "upscale_factor=2", "2x4x8x8", "2x6x8x8"},
      {"PixelUnshuffle", "downscale_factor=2", "2x4x8x8", "2x4x7x8"},
      {"ChannelShuffle", "groups=2", "2x4x8x8", "2x5x8x8"},
      {"Unfold", "kernel_size=3 padding=1", "2x4x8x8", "2x4x8x0"},
      {"Fold", "output_size=[4,5] kernel_size=[2,2] stride=[2,3]", "2x4x4", "2x4x8"},
      {"Upsample", "scale_factor=2.0", "2x4x8x8", "2x4"},
      {"Upsample", "scale_factor=1.7", "2x4x8", "2x4"},
      {"Upsample", "size=[5,6] mode='bilinear' align_corners=true", "2x4x8x8", "2x4x8"},
      {"Upsample", "scale_factor=2 mode='linear'", "2x4x8", "2x4x8x8"},
      {"Upsample", "scale_factor=[1.5,2.0,1.0] mode='trilinear'", "2x4x4x4x4", "2x4x8"},
      {"Upsample", "size=6 mode='bicubic'", "2x4x8x8", "2x4x8"},
      {"Upsample", "scale_factor=2.5 mode='nearest-exact'", "2x4x8x8", "2x4"},
      {"UpsamplingNearest2d", "scale_factor=3.0", "2x4x8x8", "2x4"},
      {"UpsamplingBilinear2d", "size=[5,6]", "2x4x8x8", "2x4x8"},
      {"RNN", "input_size=8 hidden_size=5 nonlinearity='relu'", "4x2x8", "4x2x7"},
      {"RNN", "input_size=8 hidden_size=5 num_layers=2 bias=false", "4x2x8 2x2x5", "4x2x8 1x2x5"},
      {"GRU", "input_size=8 hidden_size=5 num_layers=2 bidirectional=true batch_first=true", "2x4x8", "2x4x7"},
      {"GRU", "input_size=8 hidden_size=5", "4x8 1x5", "4x8 1x6"},
      {"LSTM", "input_size=8 hidden_size=5 num_layers=2 dropout=0.2", "4x2x8", "4x2x7"},
      {"LSTM", "input_size=8 hidden_size=5 proj_size=3 bias=false batch_first=true", "2x4x8", "2x4x7"},
      {"LSTM", "input_size=8 hidden_size=5 proj_size=3 bidirectional=true", "4x2x8 2x2x3 2x2x5", "4x2x8 2x2x5 2x2x5"},
      {"LSTM", "input_size=8 hidden_size=5 batch_first=true", "4x8", "4x7"},
      {"RNNCell", "input_size=8 hidden_size=5 nonlinearity='relu'", "2x8", "2x7"},
      {"GRUCell", "input_size=8 hidden_size=5 bias=false", "2x8 2x5", "2x8 2x4"},
      {"LSTMCell", "input_size=8 hidden_size=5", "2x8", "2x7"},
      {"LSTMCell", "input_size=8 hidden_size=5", "8 5 5", "8 5 4"},
      {"MultiheadAttention", "embed_dim=8 num_heads=2", "4x2x8 3x2x8 3x2x8", "4x2x8 3x2x8 4x2x8"},
      {"MultiheadAttention", "embed_dim=8 num_heads=2 batch_first=true bias=false average_attn_weights=false",
       "2x4x8 2x3x8 2x3x8", "2x4x8 2x3x7 2x3x8"},
      {"MultiheadAttention", "embed_dim=8 num_heads=2 kdim=6 vdim=5 need_weights=false", "4x2x8 3x2x6 3x2x5",
       "4x2x8 3x2x6 3x2x6"},
      {"MultiheadAttention", "embed_dim=8 num_heads=2 add_bias_kv=true add_zero_attn=true",
       "4x2x8 3x2x8 3x2x8 key_padding_mask=bool:2x3 attn_mask=4x3", "4x2x8 3x2x8 4x2x8"},
      {"MultiheadAttention", "embed_dim=8 num_heads=2", "4x8 3x8 3x8 attn_mask=bool:4x3", "4x8 3x8 3x2x8"},
  };
  return *rows;
}

v1::Node NodeOf(const ModuleRow& row, const std::string& inputs) {
  v1::Node node;
  node.set_name("module");
  node.mutable_op()->set_type(row.type);
  for (const absl::string_view pair : absl::StrSplit(row.attributes, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(pair, '=');
    v1::Attribute* const attribute = node.mutable_op()->add_attr();
    attribute->set_key(parts.first);
    *attribute->mutable_value() = ParseValue(parts.second);
  }
  int number = 0;
  for (const absl::string_view input : absl::StrSplit(inputs, ' ')) {
    v1::Edge* const edge = node.add_inputs();
    edge->set_node("x" + std::to_string(number++));
    edge->set_arg(InputText(input).argument);
  }
  return node;
}

std::vector<at::Tensor> TensorsOf(const std::string& inputs) {
  std::vector<at::Tensor> tensors;
  for (const absl::string_view text : absl::StrSplit(inputs, ' ')) {
    const InputText input(text);
    int64_t below = 0;
    if (input.kind == "bool") {
      // The first one is let through: a row of nothing but masks has no softmax.
      tensors.push_back(at::rand(input.dims).gt(0.5));
      tensors.back().select(-1, 0).fill_(false);
    } else if (absl::SimpleAtoi(input.kind, &below)) {
      tensors.push_back(at::randint(below, input.dims, at::kLong));
    } else {
      tensors.push_back(at::randn(input.dims).requires_grad_());
    }
  }
  return tensors;
}

v1::ValueType TypeOf(const at::Tensor& tensor) {
  if (!tensor.defined()) return v1::ValueType();
  const v1::Tensor::DataType type = tensor.scalar_type() == at::kLong   ? v1::Tensor::INT64
                                    : tensor.scalar_type() == at::kBool ? v1::Tensor::BOOL
                                                                        : v1::Tensor::FLOAT32;
  return graph::TensorType(type, tensor.sizes().vec());
}

}  // namespace lanista::ops
