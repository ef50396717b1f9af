#include "src/exporters/torchscript/source.h"

#include <functional>
#include <map>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "src/exporters/common/source_model.h"
#include "src/exporters/common/supplements.h"
#include "src/exporters/torchscript/layers.h"
#include "src/exporters/torchscript/recurrent.h"

namespace lanista::exporters {
namespace {

using Context = ScriptContext;

std::string Return(const std::string& expression) { return absl::StrCat("return ", expression); }

using Writer = std::function<absl::StatusOr<std::string>(const Context&)>;

absl::StatusOr<std::string> Dropout(const Context& c) {
  static const auto* const functions =
      new std::map<std::string, std::string>{{"Dropout", "dropout"},
                                             {"Dropout1d", "feature_dropout"},
                                             {"Dropout2d", "feature_dropout"},
                                             {"Dropout3d", "feature_dropout"},
                                             {"AlphaDropout", "alpha_dropout"},
                                             {"FeatureAlphaDropout", "feature_alpha_dropout"}};
  const bool inplace = c.Knows("inplace") && c.a.Bool("inplace");
  return Return(absl::Substitute("torch.$0$1(input, $2, $3)", functions->at(c.type()), inplace ? "_" : "", c.Float("p"),
                                 c.training));
}

// `format` with $0 = "_" if the module works in place, and with the attributes as $1 and $2.
Writer Activation(std::string format, std::vector<std::string> attributes = {}) {
  return [format = std::move(format),
          attributes = std::move(attributes)](const Context& c) -> absl::StatusOr<std::string> {
    std::vector<std::string> values(3);
    for (size_t i = 0; i < attributes.size(); ++i) {
      const graph::AttributeSpec& spec = *c.schema.FindAttribute(attributes[i]);
      switch (spec.kind) {
        case graph::AttributeKind::kInt:
          values[i] = c.Int(spec.name);
          break;
        case graph::AttributeKind::kString:
          values[i] = StringLiteral(c.a.String(spec.name));
          break;
        case graph::AttributeKind::kBool:
          values[i] = c.Bool(spec.name);
          break;
        case graph::AttributeKind::kInts:
          values[i] = c.Ints(spec.name);
          break;
        default:
          values[i] = c.Float(spec.name);
      }
    }
    const bool inplace = c.Knows("inplace") && c.a.Bool("inplace");
    return Return(absl::Substitute(format, inplace ? "_" : "", values[0], values[1], values[2]));
  };
}

absl::StatusOr<std::string> Softmax(const Context& c) {
  static const auto* const formats =
      new std::map<std::string, std::string>{{"Softmax", "torch.softmax(input, $0)"},
                                             {"LogSoftmax", "torch.log_softmax(input, $0)"},
                                             {"Softmin", "torch.softmax(torch.neg(input), $0)"}};
  const std::string& format = formats->at(c.type());
  if (c.a.Has("dim")) return Return(absl::Substitute(format, c.Int("dim")));
  return absl::StrCat("dim = 1\n  if input.dim() == 0 or input.dim() == 1 or input.dim() == 3:\n    dim = 0\n  ",
                      Return(absl::Substitute(format, "dim")));
}

absl::StatusOr<std::string> Embedding(const Context& c) {
  if (c.Knows("max_norm") && c.a.Has("max_norm")) {
    return absl::UnimplementedError("max_norm cannot be written as TorchScript");
  }
  return Return(absl::Substitute("torch.embedding(self.weight, input, $0, $1, $2)",
                                 c.a.Has("padding_idx") ? c.Int("padding_idx") : "-1",
                                 c.Knows("scale_grad_by_freq") ? c.Bool("scale_grad_by_freq") : "False",
                                 c.Knows("sparse") ? c.Bool("sparse") : "False"));
}

absl::StatusOr<std::string> Padding(const Context& c) {
  const int dims = c.Dims();
  if (absl::StartsWith(c.type(), "Reflection")) {
    return Return(absl::Substitute("torch.reflection_pad$0d(input, $1)", dims, c.Ints("padding")));
  }
  if (absl::StartsWith(c.type(), "Replication")) {
    return Return(absl::Substitute("torch.replication_pad$0d(input, $1)", dims, c.Ints("padding")));
  }
  return Return(absl::Substitute("torch.constant_pad_nd(input, $0, $1)", c.Ints("padding"),
                                 c.Knows("value") ? c.Float("value") : "0."));
}

absl::StatusOr<std::string> Fold(const Context& c) {
  const auto pair = [&](const std::string& name) {
    std::vector<int64_t> values = c.a.Ints(name);
    if (values.size() == 1) values.push_back(values[0]);
    return absl::StrCat("[", absl::StrJoin(values, ", "), "]");
  };
  const std::string rest =
      absl::StrCat(pair("kernel_size"), ", ", pair("dilation"), ", ", pair("padding"), ", ", pair("stride"), ")");
  if (c.type() == "Unfold") return Return(absl::StrCat("torch.im2col(input, ", rest));
  return Return(absl::StrCat("torch.col2im(input, ", pair("output_size"), ", ", rest));
}

absl::StatusOr<std::string> Recurrent(const Context& c) {
  return RecurrentForward(c.schema, c.a, c.node.inputs_size(), c.training);
}

absl::StatusOr<std::string> RecurrentCell(const Context& c) {
  return RecurrentCellForward(c.schema, c.a, c.node.inputs_size());
}

absl::StatusOr<std::string> Attention(const Context& c) { return AttentionForward(c.schema, c.a, c.node, c.training); }

// A module that can be written: the file of torch.nn.modules with its class, and the body of its forward.
struct Entry {
  std::string file;
  Writer body;
};

const std::map<std::string, Entry>& Entries() {
  static const auto* const entries = [] {
    auto* const map = new std::map<std::string, Entry>;
    const auto add = [&](const std::string& file, const std::vector<std::string>& types, const Writer& body) {
      for (const std::string& type : types) (*map)[type] = {file, body};
    };
    const auto per_dims = [](const std::string& name) {
      return std::vector<std::string>{name + "1d", name + "2d", name + "3d"};
    };
    add("conv", per_dims("Conv"), ConvolutionBody);
    add("conv", per_dims("ConvTranspose"), ConvolutionBody);
    add("linear", {"Linear"}, [](const Context& c) -> absl::StatusOr<std::string> {
      return Return(absl::StrCat("torch.linear(input, self.weight, ", c.Parameter("bias"), ")"));
    });
    add("linear", {"Bilinear"}, [](const Context& c) -> absl::StatusOr<std::string> {
      return Return(absl::StrCat("torch.bilinear(input, input_1, self.weight, ", c.Parameter("bias"), ")"));
    });
    add("linear", {"Identity"}, Activation("input"));
    add("batchnorm", per_dims("BatchNorm"), BatchNormBody);
    add("batchnorm", {"SyncBatchNorm"}, BatchNormBody);
    add("instancenorm", per_dims("InstanceNorm"), InstanceNormBody);
    add("normalization", {"GroupNorm"}, GroupNormBody);
    add("normalization", {"LayerNorm"}, LayerNormBody);
    add("normalization", {"LocalResponseNorm"}, LocalResponseNormBody);
    add("pooling", per_dims("MaxPool"), MaxPoolBody);
    add("pooling", per_dims("AvgPool"), AvgPoolBody);
    add("pooling", {"LPPool1d", "LPPool2d"}, LpPoolBody);
    add("pooling", per_dims("AdaptiveAvgPool"), AdaptivePoolBody);
    add("pooling", per_dims("AdaptiveMaxPool"), AdaptivePoolBody);
    add("dropout", {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"}, Dropout);
    add("activation", {"ReLU"}, Activation("torch.relu$0(input)"));
    add("activation", {"ReLU6"}, Activation("torch.hardtanh$0(input, 0., 6.)"));
    add("activation", {"ELU"}, Activation("torch.elu$0(input, $1)", {"alpha"}));
    add("activation", {"SELU"}, Activation("torch.selu$0(input)"));
    add("activation", {"CELU"}, Activation("torch.celu$0(input, $1)", {"alpha"}));
    add("activation", {"GELU"}, Activation("torch.gelu(input, approximate=$1)", {"approximate"}));
    add("activation", {"Sigmoid"}, Activation("torch.sigmoid(input)"));
    add("activation", {"Tanh"}, Activation("torch.tanh(input)"));
    add("activation", {"Softplus"}, Activation("torch.softplus(input, $1, $2)", {"beta", "threshold"}));
    add("activation", {"Softsign"}, Activation("torch.div(input, torch.add(torch.abs(input), 1))"));
    add("activation", {"LogSigmoid"}, Activation("torch.log_sigmoid(input)"));
    add("activation", {"SiLU"}, Activation("torch.silu$0(input)"));
    add("activation", {"Mish"}, Activation("torch.mish$0(input)"));
    add("activation", {"Hardswish"}, Activation("torch.hardswish$0(input)"));
    add("activation", {"Hardsigmoid"}, Activation("torch.hardsigmoid$0(input)"));
    add("activation", {"Hardtanh"}, Activation("torch.hardtanh$0(input, $1, $2)", {"min_val", "max_val"}));
    add("activation", {"Hardshrink"}, Activation("torch.hardshrink(input, $1)", {"lambd"}));
    add("activation", {"Softshrink"}, Activation("torch.softshrink(input, $1)", {"lambd"}));
    add("activation", {"Tanhshrink"}, Activation("torch.sub(input, torch.tanh(input))"));
    add("activation", {"Threshold"}, Activation("torch.threshold$0(input, $1, $2)", {"threshold", "value"}));
    add("activation", {"LeakyReLU"}, Activation("torch.leaky_relu$0(input, $1)", {"negative_slope"}));
    add("activation", {"PReLU"}, Activation("torch.prelu(input, self.weight)"));
    add("activation", {"RReLU"}, [](const Context& c) -> absl::StatusOr<std::string> {
      return Return(
          absl::StrCat("torch.rrelu(input, ", c.Float("lower"), ", ", c.Float("upper"), ", ", c.training, ")"));
    });
    add("activation", {"GLU"}, Activation("torch.glu(input, $1)", {"dim"}));
    add("activation", {"Softmax", "LogSoftmax", "Softmin"}, Softmax);
    add("activation", {"Softmax2d"}, Activation("torch.softmax(input, -3)"));
    add("activation", {"MultiheadAttention"}, Attention);
    add("sparse", {"Embedding"}, Embedding);
    for (const char* const name : {"ReflectionPad", "ReplicationPad", "ConstantPad", "ZeroPad"}) {
      add("padding", per_dims(name), Padding);
    }
    add("flatten", {"Flatten"}, Activation("torch.flatten(input, $1, $2)", {"start_dim", "end_dim"}));
    add("flatten", {"Unflatten"}, Activation("torch.unflatten(input, $1, $2)", {"dim", "unflattened_size"}));
    add("upsampling", {"Upsample", "UpsamplingNearest2d", "UpsamplingBilinear2d"}, UpsampleBody);
    add("rnn", {"RNN", "LSTM", "GRU"}, Recurrent);
    add("rnn", {"RNNCell", "LSTMCell", "GRUCell"}, RecurrentCell);
    add("pixelshuffle", {"PixelShuffle"}, Activation("torch.pixel_shuffle(input, $1)", {"upscale_factor"}));
    add("pixelshuffle", {"PixelUnshuffle"}, Activation("torch.pixel_unshuffle(input, $1)", {"downscale_factor"}));
    add("channelshuffle", {"ChannelShuffle"}, Activation("torch.channel_shuffle(input, $1)", {"groups"}));
    add("distance", {"CosineSimilarity"},
        Activation("torch.cosine_similarity(input, input_1, $1, $2)", {"dim", "eps"}));
    add("distance", {"PairwiseDistance"},
        Activation("torch.pairwise_distance(input, input_1, $1, $2, $3)", {"p", "eps", "keepdim"}));
    add("fold", {"Fold", "Unfold"}, Fold);
    return map;
  }();
  return *entries;
}

}  // namespace

std::string TorchClass(absl::string_view type) {
  if (const Supplement* const supplement = FindSupplement(type)) return supplement->qualified_name;
  const auto found = Entries().find(std::string(type));
  if (found == Entries().end()) return absl::StrCat("torch.nn.", type);
  return absl::StrCat("torch.nn.modules.", found->second.file, ".", type);
}

absl::StatusOr<std::string> TorchScriptForward(const graph::OpSchema& schema, const graph::Attributes& attributes,
                                               const v1::Node& node, bool frozen) {
  const std::string training = frozen ? "False" : "self.training";
  const Supplement* const supplement = FindSupplement(schema.type());
  const auto found = Entries().find(schema.type());
  absl::StatusOr<std::string> body;
  if (supplement != nullptr) {
    body = absl::Substitute(supplement->torchscript(attributes), training);
  } else if (found != Entries().end()) {
    body = found->second.body({schema, attributes, node, training});
  } else {
    body = absl::UnimplementedError(absl::StrCat("operator ", schema.type(), " has no TorchScript form"));
  }
  if (!body.ok()) return body;
  std::string inputs = "input: Tensor";
  for (int i = 1; i < node.inputs_size(); ++i) absl::StrAppend(&inputs, ", input_", i, ": Tensor");
  return absl::StrCat("def forward(self, ", inputs, "):\n  ", *body, "\n");
}

}  // namespace lanista::exporters
