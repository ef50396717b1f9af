// The contract of every module operator: what its schema says is what its module does.
#include <ATen/ATen.h>
#include <torch/nn/module.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "src/exporters/onnx/memory_sharing.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "src/ops/registry_torch.h"
#include "src/runtime/graph_module_torch.h"
#include "tests/ops/hostile_integers.h"
#include "tests/ops/module_rows.h"

namespace lanista::ops {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// The runtime of graphs builds these itself.
const std::set<std::string>& BuiltIn() {
  static const auto* const types = new std::set<std::string>{"Assert", "Constant", "Parameter", "Training"};
  return *types;
}

std::vector<std::string> ModuleTypes() {
  std::vector<std::string> types;
  for (const std::string& type : OpTypes()) {
    if (type.find("::") == std::string::npos && BuiltIn().count(type) == 0) types.push_back(type);
  }
  return types;
}

// A row's operator, its schema and its module in training mode.
class ModuleOps : public ::testing::TestWithParam<ModuleRow> {
 protected:
  void SetUp() override {
    torch::manual_seed(7);
    node_ = NodeOf(GetParam(), GetParam().inputs);
    schema_ = FindOp(GetParam().type);
    ASSERT_NE(schema_, nullptr);
    const absl::Status status = schema_->CheckAttributes(node_.op());
    ASSERT_TRUE(status.ok()) << status;
    const OpBuilder* const builder = FindOpBuilder(GetParam().type);
    ASSERT_NE(builder, nullptr) << "the schema has no builder";
    op_ = (*builder)(Attributes());
  }

  graph::Attributes Attributes() const { return graph::Attributes(*schema_, node_.op()); }

  // What the module returns for `inputs`, as a graph hands them over; undefined: none.
  std::vector<at::Tensor> Forward(const v1::Node& node, const std::vector<at::Tensor>& inputs) {
    std::vector<c10::IValue> arguments;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const int named = op_->Position(node.inputs(static_cast<int>(i)).arg());
      const size_t at = named >= 0 ? static_cast<size_t>(named) : i;
      if (arguments.size() <= at) arguments.resize(at + 1);
      // No leaf may be worked on in place.
      arguments[at] = inputs[i].requires_grad() ? inputs[i] * 1 : inputs[i];
    }
    std::vector<c10::IValue> outputs(static_cast<size_t>(schema_->NumOutputs(Attributes())));
    op_->Run(arguments, outputs.data());
    std::vector<at::Tensor> tensors;
    for (const c10::IValue& output : outputs) tensors.push_back(output.isNone() ? at::Tensor() : output.toTensor());
    return tensors;
  }

  absl::StatusOr<std::vector<v1::ValueType>> Infer(const std::vector<v1::ValueType>& inputs) const {
    return schema_->InferTypes({node_, Attributes(), inputs});
  }

  static std::vector<v1::ValueType> TypesOf(const std::vector<at::Tensor>& tensors) {
    std::vector<v1::ValueType> types;
    for (const at::Tensor& tensor : tensors) types.push_back(TypeOf(tensor));
    return types;
  }

  static std::vector<std::string> Text(const std::vector<v1::ValueType>& types) {
    std::vector<std::string> texts;
    for (const v1::ValueType& type : types) texts.push_back(graph::TypeToText(type));
    return texts;
  }

  v1::Node node_;
  const graph::OpSchema* schema_ = nullptr;
  std::unique_ptr<OpModule> op_;
};

std::string NameOf(const ::testing::TestParamInfo<ModuleRow>& info) {
  return absl::StrCat(info.param.type, "_", info.index);
}

INSTANTIATE_TEST_SUITE_P(Rows, ModuleOps, ::testing::ValuesIn(ModuleRows()), NameOf);

TEST_P(ModuleOps, OutputsHaveTheInferredTypes) {
  const std::vector<at::Tensor> inputs = TensorsOf(GetParam().inputs);
  const auto types = Infer(TypesOf(inputs));
  ASSERT_TRUE(types.ok()) << types.status();
  EXPECT_THAT(Text(*types), ElementsAreArray(Text(TypesOf(Forward(node_, inputs)))));
  op_->module()->eval();
  EXPECT_THAT(Text(*types), ElementsAreArray(Text(TypesOf(Forward(node_, inputs))))) << "in evaluation";
  const auto flops = schema_->Flops({node_, Attributes(), TypesOf(inputs)}, *types);
  ASSERT_TRUE(flops.has_value());
  EXPECT_GE(*flops, 0);
}

TEST_P(ModuleOps, WhatIsUnknownOfInputsIsUnknownOfOutputs) {
  const std::vector<at::Tensor> inputs = TensorsOf(GetParam().inputs);
  const std::vector<v1::ValueType> whole = TypesOf(Forward(node_, inputs));
  // One dimension after the other, in all inputs that have it.
  for (int axis = 0; axis < inputs[0].dim(); ++axis) {
    std::vector<v1::ValueType> types = TypesOf(inputs);
    const int64_t size = inputs[0].size(axis);
    for (v1::ValueType& type : types) {
      if (axis < type.shape().dims_size() && type.shape().dims(axis) == size) type.mutable_shape()->set_dims(axis, -1);
    }
    const auto inferred = Infer(types);
    ASSERT_TRUE(inferred.ok()) << inferred.status();
    ASSERT_EQ(inferred->size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      if (!(*inferred)[i].has_shape()) continue;
      ASSERT_EQ((*inferred)[i].shape().dims_size(), whole[i].shape().dims_size());
      for (int d = 0; d < whole[i].shape().dims_size(); ++d) {
        const int64_t dim = (*inferred)[i].shape().dims(d);
        EXPECT_TRUE(dim == -1 || dim == whole[i].shape().dims(d))
            << graph::TypeToText((*inferred)[i]) << " is not " << graph::TypeToText(whole[i]);
      }
    }
  }
  const auto unknown = Infer(std::vector<v1::ValueType>(inputs.size(), graph::TensorType(v1::Tensor::FLOAT32)));
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_EQ(unknown->size(), whole.size());
}

TEST_P(ModuleOps, MemoryIsSharedInEvaluationAsTheOnnxExportKnows) {
  op_->module()->eval();
  std::vector<at::Tensor> inputs = TensorsOf(GetParam().inputs);
  for (at::Tensor& input : inputs) input = input.detach();
  for (const at::Tensor& output : Forward(node_, inputs)) {
    if (!output.defined()) continue;
    const exporters::Sharing sharing = exporters::SharingOf(node_);
    const bool known = sharing != exporters::Sharing::kNothing || exporters::WorksInPlace(node_.op());
    EXPECT_LE(output.is_alias_of(inputs[0]), known);
    EXPECT_LE(sharing == exporters::Sharing::kAll, output.data_ptr() == inputs[0].data_ptr());
    for (size_t i = 1; i < inputs.size(); ++i) EXPECT_FALSE(output.is_alias_of(inputs[i])) << i;
  }
}

TEST_P(ModuleOps, HostileIntegersAreRefusedOrCounted) {
  const std::vector<v1::ValueType> inputs = TypesOf(TensorsOf(GetParam().inputs));
  ForEachHostileInteger(node_, [&](const v1::Node& hostile) {
    if (!schema_->CheckAttributes(hostile.op()).ok()) return;
    const graph::Attributes attributes(*schema_, hostile.op());
    for (const graph::ParameterSpec& parameter : schema_->Parameters(attributes)) {
      EXPECT_GE(parameter.NumElements(), 0) << hostile.ShortDebugString();
    }
    const auto types = schema_->InferTypes({hostile, attributes, inputs});
    if (!types.ok()) return;
    for (const v1::ValueType& type : *types) {
      for (const int64_t dim : type.shape().dims()) EXPECT_GE(dim, -1) << hostile.ShortDebugString();
    }
    EXPECT_GE(schema_->Flops({hostile, attributes, inputs}, *types).value_or(0), 0) << hostile.ShortDebugString();
  });
}

TEST_P(ModuleOps, ParametersAreThoseOfTheModule) {
  std::vector<std::string> expected, actual;
  for (const graph::ParameterSpec& spec : schema_->Parameters(Attributes())) {
    expected.push_back(absl::StrCat(spec.name, spec.buffer ? " (buffer) " : " ",
                                    graph::TypeToText(graph::TensorType(spec.data_type, spec.shape))));
  }
  for (const auto& item : op_->module()->named_parameters()) {
    actual.push_back(absl::StrCat(item.key(), " ", graph::TypeToText(TypeOf(item.value()))));
  }
  for (const auto& item : op_->module()->named_buffers()) {
    actual.push_back(absl::StrCat(item.key(), " (buffer) ", graph::TypeToText(TypeOf(item.value()))));
  }
  EXPECT_THAT(actual, ElementsAreArray(expected));
}

TEST_P(ModuleOps, GradientsReachInputsAndParameters) {
  const std::vector<at::Tensor> inputs = TensorsOf(GetParam().inputs);
  at::Tensor loss;
  for (const at::Tensor& output : Forward(node_, inputs)) {
    if (!output.defined() || !output.requires_grad()) continue;
    // A sum alone has no gradient through a softmax.
    const at::Tensor term = (output * output.detach().sigmoid()).sum();
    loss = loss.defined() ? loss + term : term;
  }
  ASSERT_TRUE(loss.defined()) << "no output has a gradient";
  loss.backward();
  for (size_t i = 0; i < inputs.size(); ++i) {
    EXPECT_EQ(inputs[i].grad().defined(), inputs[i].requires_grad()) << "input " << i;
  }
  for (const auto& item : op_->module()->named_parameters()) {
    EXPECT_TRUE(item.value().grad().defined()) << item.key();
  }
}

class ModuleOpMisfits : public ModuleOps {};

std::vector<ModuleRow> RowsWithMisfits() {
  std::vector<ModuleRow> rows;
  for (const ModuleRow& row : ModuleRows()) {
    if (!row.misfits.empty()) rows.push_back(row);
  }
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Rows, ModuleOpMisfits, ::testing::ValuesIn(RowsWithMisfits()), NameOf);

TEST_P(ModuleOpMisfits, AreErrors) {
  const v1::Node node = NodeOf(GetParam(), GetParam().misfits);
  const std::vector<at::Tensor> inputs = TensorsOf(GetParam().misfits);
  const auto types = schema_->InferTypes({node, Attributes(), TypesOf(inputs)});
  ASSERT_FALSE(types.ok()) << absl::StrJoin(Text(*types), ", ");
  EXPECT_EQ(types.status().code(), absl::StatusCode::kInvalidArgument) << types.status();
  EXPECT_THAT(std::string(types.status().message()), ::testing::MatchesRegex(".*[0-9].*[0-9].*"));
  // LibTorch may take what PyTorch's documentation does not allow, but nothing crashes.
  try {
    Forward(node, inputs);
  } catch (const c10::Error&) {
  }
}

TEST_P(ModuleOps, CanBeWritten) {
  const auto python = schema_->PythonModule(Attributes());
  ASSERT_TRUE(python.ok()) << python.status();
  EXPECT_THAT(*python, HasSubstr("nn." + GetParam().type + "("));
  const auto cpp = schema_->CppModule(Attributes());
  if (cpp.ok()) {
    EXPECT_THAT(*cpp, HasSubstr("torch::nn::"));
  } else {
    EXPECT_EQ(cpp.status().code(), absl::StatusCode::kUnimplemented) << cpp.status();
    EXPECT_FALSE(cpp.status().message().empty());
  }
}

// ---- All of them ----

TEST(ModuleOpTable, HasARowForEveryModuleOperator) {
  std::set<std::string> rows;
  for (const ModuleRow& row : ModuleRows()) rows.insert(row.type);
  for (const std::string& type : ModuleTypes()) EXPECT_EQ(rows.count(type), 1u) << type << ": add a row";
}

// What is gone from here, saved experiments and imported models miss.
TEST(ModuleOpTable, HasTheseOperators) {
  const char* const golden =
      "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
      "AlphaDropout AvgPool1d AvgPool2d AvgPool3d BatchNorm1d BatchNorm2d BatchNorm3d Bilinear CELU ChannelShuffle "
      "ConstantPad1d ConstantPad2d ConstantPad3d Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d "
      "CosineSimilarity Dropout Dropout1d Dropout2d Dropout3d ELU Embedding EmbeddingBag FeatureAlphaDropout Flatten "
      "Fold FractionalMaxPool2d FractionalMaxPool3d GELU GLU GRU GRUCell GroupNorm Hardshrink Hardsigmoid Hardswish "
      "Hardtanh Identity InstanceNorm1d InstanceNorm2d InstanceNorm3d LPPool1d LPPool2d LSTM LSTMCell LayerNorm "
      "LeakyReLU Linear LocalResponseNorm LogSigmoid LogSoftmax MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d MaxUnpool2d "
      "MaxUnpool3d Mish MultiheadAttention PReLU PairwiseDistance PixelShuffle PixelUnshuffle RNN RNNCell RReLU ReLU "
      "ReLU6 ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU "
      "SiLU Sigmoid Softmax Softmax2d Softmin Softplus Softshrink Softsign StochasticDepth Tanh Tanhshrink Threshold "
      "Unflatten Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad2d";
  const std::vector<std::string> expected = absl::StrSplit(golden, ' ');
  EXPECT_THAT(ModuleTypes(), ElementsAreArray(expected));
}

TEST(ModuleOpTable, MessagesHaveTheNumbersOfBothSides) {
  const ModuleRow row = {"Conv2d", "in_channels=64 out_channels=8 kernel_size=3", "2x32x28x28"};
  const v1::Node node = NodeOf(row, row.inputs);
  const graph::OpSchema& schema = *FindOp("Conv2d");
  const auto types = schema.InferTypes(
      {node, graph::Attributes(schema, node.op()), {graph::TensorType(v1::Tensor::FLOAT32, {-1, 32, 28, 28})}});
  EXPECT_THAT(std::string(types.status().message()),
              HasSubstr("expects 64 input channels (in_channels), gets 32 in float32[-1, 32, 28, 28]"));
}

}  // namespace
}  // namespace lanista::ops
