// What aten operators say about themselves against what LibTorch does.

#include <cctype>
#include <limits>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "src/exporters/onnx/memory_sharing.h"
#include "src/graph/graph.h"
#include "src/graph/onnx_writer.h"
#include "src/graph/value_types.h"
#include "src/ops/registry.h"
#include "src/runtime/aten_call_torch.h"
#include "tests/graph/graph_testing.h"
#include "tests/ops/aten_samples.h"
#include "tests/ops/hostile_integers.h"

namespace lanista::ops {
namespace {

v1::Tensor::DataType DataTypeOf(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return v1::Tensor::FLOAT32;
    case at::kDouble:
      return v1::Tensor::FLOAT64;
    case at::kLong:
      return v1::Tensor::INT64;
    case at::kBool:
      return v1::Tensor::BOOL;
    default:
      return v1::Tensor::DATA_TYPE_UNSPECIFIED;
  }
}

// What `value` really is.
v1::ValueType TypeOf(const c10::IValue& value) {
  v1::ValueType type;
  if (value.isTensor())
    return graph::TensorType(DataTypeOf(value.toTensor().scalar_type()), value.toTensor().sizes().vec());
  if (value.isInt()) return graph::KnownInt(value.toInt());
  if (value.isBool()) type.set_kind(v1::ValueType::BOOLEAN);
  if (value.isDouble()) type.set_kind(v1::ValueType::FLOAT);
  if (!value.isList()) return type;
  std::vector<v1::ValueType> items;
  for (const c10::IValue& item : value.toListRef()) items.push_back(TypeOf(item));
  return graph::ListOf(items);
}

// -1 for each size that is `batch` in the type; `which`: "-": none, "0": the first one.
void Open(v1::ValueType* type, const char* which) {
  if (which != nullptr && *which == '-') return;
  for (int i = 0; i < type->shape().dims_size(); ++i) {
    if (which != nullptr ? i == 0 : type->shape().dims(i) == 11) type->mutable_shape()->set_dims(i, -1);
  }
  if (type->kind() == v1::ValueType::INT && (type->value() == 11 || which != nullptr)) type->clear_value();
  for (v1::ValueType& item : *type->mutable_items()) Open(&item, which);
  if (type->kind() == v1::ValueType::LIST) *type = graph::ListOf({type->items().begin(), type->items().end()});
}

TEST(AtenFunctions, InferTheTypesThatLibTorchGives) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(absl::StrCat(sample.type, " ", sample.arguments));
    const Call one = CallOf(sample);
    const graph::OpSchema* const schema = FindOp(one.node.op().type());
    ASSERT_NE(schema, nullptr);
    ASSERT_TRUE(schema->CheckAttributes(one.node.op()).ok()) << schema->CheckAttributes(one.node.op());
    std::vector<c10::IValue> outputs;
    auto call = runtime::AtenCall::Create(one.node);
    ASSERT_TRUE(call.ok()) << call.status();
    call->Run(one.inputs, &outputs);
    const graph::Attributes attributes(*schema, one.node.op());
    ASSERT_EQ(static_cast<int>(outputs.size()), schema->NumOutputs(attributes));
    const auto inferred = schema->InferTypes({one.node, attributes, one.types});
    ASSERT_TRUE(inferred.ok()) << inferred.status();
    ASSERT_EQ(inferred->size(), outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      v1::ValueType real = TypeOf(outputs[i]);
      if (sample.number_is_unknown) real.clear_value();
      EXPECT_EQ((*inferred)[i].ShortDebugString(), real.ShortDebugString());
    }
  }
}

TEST(AtenFunctions, InferAllButTheBatchWhereThatIsUnknown) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(absl::StrCat(sample.type, " ", sample.arguments));
    const Call one = CallOf(sample);
    const graph::OpSchema* const schema = FindOp(one.node.op().type());
    const graph::Attributes attributes(*schema, one.node.op());
    const auto known = schema->InferTypes({one.node, attributes, one.types});
    ASSERT_TRUE(known.ok()) << known.status();
    std::vector<v1::ValueType> open_types;
    int64_t last = -1;
    bool any = false;
    for (v1::ValueType type : one.types) {
      if (type.shape().dims_size() > 0 && type.shape().dims(0) == 11) {
        type.mutable_shape()->set_dims(0, -1);
        any = true;
      }
      open_types.push_back(type);
    }
    const auto open = schema->InferTypes({one.node, attributes, open_types});
    ASSERT_TRUE(open.ok()) << open.status();
    // The same with numbers: one batch for all.
    last = -1;
    for (v1::ValueType& type : open_types) {
      last = -1;
      graph::NumberDimensions(&type, &last);
    }
    const auto numbered = graph::InferOutputs(*schema, {one.node, attributes, open_types});
    ASSERT_TRUE(numbered.ok()) << numbered.status();
    for (size_t i = 0; i < known->size(); ++i) {
      v1::ValueType expected = (*known)[i];
      if (any) Open(&expected, sample.open);
      EXPECT_EQ(graph::ForgetNumbers((*numbered)[i]).ShortDebugString(), expected.ShortDebugString());
      // Without numbers less may be known, and nothing else.
      EXPECT_EQ(graph::CommonType((*open)[i], expected).shape().dims_size(), (*open)[i].shape().dims_size());
      for (int d = 0; d < (*open)[i].shape().dims_size(); ++d) {
        const int64_t dim = (*open)[i].shape().dims(d);
        EXPECT_TRUE(dim == -1 || dim == expected.shape().dims(d) || dim == (*known)[i].shape().dims(d)) << dim;
      }
    }
    // Nothing known of the inputs: no error, and the same kinds.
    std::vector<v1::ValueType> blank(one.types.size());
    const auto unknown = schema->InferTypes({one.node, attributes, blank});
    ASSERT_TRUE(unknown.ok()) << unknown.status();
    ASSERT_EQ(unknown->size(), known->size());
    for (size_t i = 0; i < known->size(); ++i) EXPECT_EQ((*unknown)[i].kind(), (*known)[i].kind());
  }
}

// Whether LibTorch's schema says that an operator changes its first argument, and that a result may be a view of it.
struct DeclaredSharing {
  bool changes = false;
  bool shares = false;
};

DeclaredSharing DeclaredOf(const c10::FunctionSchema& schema) {
  const c10::AliasInfo* const first = schema.arguments().at(0).alias_info();
  DeclaredSharing declared;
  declared.changes = first != nullptr && first->isWrite();
  declared.shares = !declared.changes && first != nullptr && schema.returns().at(0).alias_info() != nullptr;
  return declared;
}

TEST(AtenFunctions, ShareMemoryAsTheOnnxExportKnows) {
  int changing = 0, sharing = 0;
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(absl::StrCat(sample.type, " ", sample.arguments));
    const Call one = CallOf(sample);
    const bool in_place = exporters::WorksInPlace(one.node.op());
    const bool known = exporters::SharingOf(one.node) != exporters::Sharing::kNothing;
    auto call = runtime::AtenCall::Create(one.node);
    ASSERT_TRUE(call.ok()) << call.status();
    std::vector<c10::IValue> outputs;
    call->Run(one.inputs, &outputs);
    if (one.inputs.empty() || !one.inputs[0].isTensor() || outputs.empty()) continue;
    for (const c10::IValue& output : outputs) {
      std::vector<at::Tensor> tensors;
      if (output.isTensor()) tensors = {output.toTensor()};
      if (output.isTensorList()) tensors = output.toTensorVector();
      for (const at::Tensor& tensor : tensors) {
        EXPECT_LE(tensor.is_alias_of(one.inputs[0].toTensor()), in_place || known);
      }
    }
    const auto found = runtime::FindAtenOperator(one.node.op().type());
    if (!found->schema().arguments().at(0).type()->isSubtypeOf(*c10::TensorType::get())) continue;
    const DeclaredSharing declared = DeclaredOf(found->schema());
    EXPECT_EQ(in_place, declared.changes);
    EXPECT_LE(declared.shares, known);
    changing += in_place ? 1 : 0;
    sharing += declared.shares ? 1 : 0;
  }
  EXPECT_GT(changing, 10);
  EXPECT_GT(sharing, 15);
}

TEST(AtenFunctions, HostileIntegersEndNothing) {
  for (const Sample& sample : Samples()) {
    const Call one = CallOf(sample);
    const graph::OpSchema* const schema = FindOp(one.node.op().type());
    ForEachHostileInteger(one.node, [&](const v1::Node& hostile) {
      if (!schema->CheckAttributes(hostile.op()).ok()) return;
      const graph::OpCall call{hostile, graph::Attributes(*schema, hostile.op()), one.types};
      const auto types = schema->InferTypes(call);
      if (types.ok()) schema->Flops(call, *types);
    });
  }
}

TEST(AtenFunctions, AreAllTried) {
  std::set<std::string> tried;
  for (const Sample& sample : Samples()) tried.insert(TypeOf(sample));
  for (const std::string& type : OpTypes()) {
    if (!absl::StrContains(type, "::")) continue;
    EXPECT_EQ(tried.count(type), 1u) << type << " has no sample here";
    const auto found = runtime::FindAtenOperator(type);
    ASSERT_NE(found, nullptr) << type << " is none of LibTorch's";
    // All of its arguments, in order.
    std::vector<std::string> ours, theirs;
    for (const graph::AttributeSpec& argument : FindOp(type)->attributes()) ours.push_back(argument.name);
    for (const c10::Argument& argument : found->schema().arguments()) theirs.push_back(argument.name());
    EXPECT_EQ(ours, theirs) << type;
  }
}

absl::Status StatusOf(const Sample& sample) {
  const Call one = CallOf(sample);
  const graph::OpSchema* const schema = FindOp(one.node.op().type());
  return schema->InferTypes({one.node, graph::Attributes(*schema, one.node.op()), one.types}).status();
}

TEST(AtenFunctions, RefuseWhatDoesNotFit) {
  EXPECT_EQ(StatusOf({"add.Tensor", "self=@ other=@", {{2, 3}, {2, 4}}}).message(),
            "cannot combine float32[2, 3] with float32[2, 4]");
  EXPECT_EQ(StatusOf({"view", "self=@ size=[-1,5]", {{2, 3}}}).message(),
            "cannot give float32[2, 3] the shape [-1, 5]");
  const std::vector<Sample> wrong = {
      {"view", "self=@ size=[4]", {{2, 3}}},
      {"view", "self=@ size=[-1,-1]", {{2, 3}}},
      {"view", "self=@ size=['a']", {{2, 3}}},
      {"view", "self=@ size=[-1,0]", {{2, 3}}},
      {"flatten.using_ints", "self=@ start_dim=2", {{2, 3}}},
      {"flatten.using_ints", "self=@ start_dim=1 end_dim=0", {{2, 3}}},
      {"permute", "self=@ dims=[0,0]", {{2, 3}}},
      {"permute", "self=@ dims=[0]", {{2, 3}}},
      {"permute", "self=@ dims=[0,7]", {{2, 3}}},
      {"permute", "self=@ dims=[0]", {{}}},
      {"transpose.int", "self=@ dim0=0 dim1=2", {{2, 3}}},
      {"unsqueeze", "self=@ dim=3", {{2, 3}}},
      {"squeeze.dim", "self=@ dim=2", {{2, 3}}},
      {"t", "self=@", {{2, 3, 4}}},
      {"pixel_shuffle", "self=@ upscale_factor=0", {{2, 4, 3, 3}}},
      {"slice.Tensor", "self=@ dim=0 step=0", {{2, 3}}},
      {"slice.Tensor", "self=@ dim=0 start=0 end=1", {{}}},
      {"narrow", "self=@ dim=1 start=2 length=2", {{2, 3}}},
      {"select.int", "self=@ dim=1 index=3", {{2, 3}}},
      {"select.int", "self=@ dim=0 index=0", {{}}},
      {"chunk", "self=@ chunks=0", {{2, 3}}},
      {"split.Tensor", "self=@ split_size=0", {{2, 3}}},
      {"split.sizes", "self=@ split_size=[1,1] dim=1", {{2, 3}}},
      {"split_with_sizes", "self=@ split_sizes=[9223372036854775807,9223372036854775807,2]", {{0}}},
      {"unbind.int", "self=@", {{}}},
      {"cat", "tensors=@ tensors=@ dim=1", {{2, 3}, {3, 3}}},
      {"stack", "tensors=@ tensors=@", {{2, 3}, {2, 4}}},
      {"mean.dim", "self=@ dim=[2]", {{2, 3}}},
      {"mean.dim", "self=@ dim=[0,0]", {{2, 3}}},
      {"matmul", "self=@ other=@", {{2, 3}, {2, 3}}},
      {"matmul", "self=@ other=@", {{}, {2, 3}}},
      {"mm", "self=@ mat2=@", {{2, 3}, {3}}},
      {"bmm", "self=@ mat2=@", {{2, 3, 4}, {3, 4, 5}}},
      {"linear", "input=@ weight=@", {{2, 3}, {5, 4}}},
      {"einsum", "equation='ij,jk->ik' tensors=@", {{2, 3}}},
      {"einsum", "equation='ij->k' tensors=@", {{2, 3}}},
      {"einsum", "equation='ijk->k' tensors=@", {{2, 3}}},
      {"conv2d", "input=@ weight=@", {{2, 3, 4, 4}, {5, 4, 3, 3}}},
      {"conv2d", "input=@ weight=@ stride=0", {{2, 4, 4, 4}, {5, 4, 3, 3}}},
      {"max_pool2d", "self=@ kernel_size=[5,5]", {{2, 3, 4, 4}}},
      {"max_pool2d", "self=@ kernel_size=[0,1]", {{2, 3, 4, 4}}},
      {"max_pool2d", "self=@ kernel_size=[1,1,1]", {{2, 3, 4, 4}}},
      {"adaptive_avg_pool2d", "self=@ output_size=[1,1,1]", {{2, 3, 4, 4}}},
      {"constant_pad_nd", "self=@ pad=[1]", {{2, 3}}},
      {"constant_pad_nd", "self=@ pad=[-4,0]", {{2, 3}}},
      {"__interpolate", "input=@ size=0", {{2, 3, 4, 4}}},
      {"__interpolate.size_list", "input=@ size=[1,2,3]", {{2, 3, 4, 4}}},
      {"expand", "self=@ size=[2,4]", {{2, 3}}},
      {"expand", "self=@ size=[3]", {{2, 3}}},
      {"expand", "self=@ size=[-1,2,3]", {{2, 3}}},
      {"repeat", "self=@ repeats=[2]", {{2, 3}}},
      {"zeros", "size=[-2]", {}},
      {"arange.start_step", "start=0 end=5 step=0", {}},
      {"arange.start_step", "start=-9223372036854775807 end=9223372036854775807 step=1", {}},
      {"arange.start_step", "start=0 end=-5 step=9223372036854775807", {}},
      {"batch_norm", "input=@ running_mean=@", {{2, 3}, {4}}},
      {"layer_norm", "input=@ normalized_shape=[4]", {{2, 3}}},
      {"size.int", "self=@ dim=2", {{2, 3}}},
      {"len.Tensor", "t=@", {{}}},
      {"__getitem__.t", "list=[1,2] idx=2", {}},
      {"relu", "self=1", {}},
  };
  for (const Sample& sample : wrong) {
    EXPECT_TRUE(absl::IsInvalidArgument(StatusOf(sample))) << sample.type << " " << sample.arguments;
  }
}

// What is inferred for an input of `size` elements, which need not fit into memory.
absl::StatusOr<std::vector<v1::ValueType>> TypesOfHuge(const Sample& sample, int64_t size) {
  const Call one = CallOf(sample);
  const graph::OpSchema* const schema = FindOp(one.node.op().type());
  return schema->InferTypes(
      {one.node, graph::Attributes(*schema, one.node.op()), {graph::TensorType(v1::Tensor::FLOAT32, {size})}});
}

TEST(AtenFunctions, AListOfVeryManyTensorsHasNoKnownLength) {
  const int64_t huge = int64_t{1} << 60;
  for (const Sample& sample :
       {Sample{"split.Tensor", "self=@ split_size=1", {{4}}},
        Sample{"chunk", "self=@ chunks=9223372036854775807", {{4}}}, Sample{"unbind.int", "self=@", {{4}}}}) {
    const auto types = TypesOfHuge(sample, huge);
    ASSERT_TRUE(types.ok()) << types.status();
    EXPECT_EQ((*types)[0].kind(), v1::ValueType::LIST) << sample.type;
    EXPECT_EQ((*types)[0].items_size(), 0) << sample.type;
  }
  const auto two = TypesOfHuge({"split.Tensor", "self=@ split_size=4611686018427387904", {{4}}},
                               std::numeric_limits<int64_t>::max());
  ASSERT_TRUE(two.ok()) << two.status();
  ASSERT_EQ((*two)[0].items_size(), 2);
  EXPECT_EQ((*two)[0].items(1).shape().dims(0), (int64_t{1} << 62) - 1);
}

// Writes constants and the operators' names only.
class ConstantWriter final : public graph::OnnxWriter {
 public:
  std::string Input(int) override { return "input"; }
  std::string Parameter(const std::string&) override { return ""; }
  std::string Constant(const std::vector<int64_t>& values, const std::vector<int64_t>& dims) override {
    if (dims.empty()) integers.push_back(values.at(0));
    return "integers";
  }
  std::string Constant(const std::vector<float>& values, const std::vector<int64_t>&) override {
    sum += values.at(0);
    return "numbers";
  }
  std::vector<std::string> Node(const std::string& op_type, const std::vector<std::string>&,
                                const std::vector<graph::OnnxAttribute>&, int num_outputs) override {
    return std::vector<std::string>(static_cast<size_t>(num_outputs), op_type);
  }

  // Scalars.
  std::vector<int64_t> integers;
  double sum = 0;
};

TEST(AtenFunctions, NumbersInOnnxAreThoseOfTheModel) {
  const auto written = [](const Sample& sample) {
    const Call one = CallOf(sample);
    const graph::OpSchema* const schema = FindOp(one.node.op().type());
    graph::OpCall call{one.node, graph::Attributes(*schema, one.node.op()), one.types};
    call.outputs = schema->InferTypes(call).value();
    ConstantWriter writer;
    const auto names = schema->ToOnnx(call, writer);
    EXPECT_TRUE(names.ok()) << names.status();
    return writer;
  };
  EXPECT_THAT(written({"full", "size=[2] fill_value=16777217", {}}).integers, testing::ElementsAre(16777217));
  EXPECT_THAT(written({"full", "size=[2] fill_value=16777217 dtype=7", {}}).integers, testing::ElementsAre(16777217));
  EXPECT_EQ(written({"full", "size=[2] fill_value=0.1 dtype=7", {}}).sum, 0.1);
  EXPECT_EQ(written({"full", "size=[2] fill_value=-123456.789012345 dtype=7", {}}).sum, -123456.789012345);
  EXPECT_EQ(written({"full", "size=[2] fill_value=0.5", {}}).sum, 0.5);
  EXPECT_THAT(written({"add.Scalar", "self=@i other=16777217", {{2}}}).integers, testing::ElementsAre(16777217));
}

TEST(AtenFunctions, ReadAsAPersonWritesThem) {
  const auto python = [](const char* type, const std::map<std::string, std::string>& arguments) {
    return *FindOp(absl::StrCat("aten::", type))->PythonCall(arguments);
  };
  const auto cpp = [](const char* type, const std::map<std::string, std::string>& arguments) {
    return FindOp(absl::StrCat("aten::", type))->CppCall(arguments).value_or("");
  };
  EXPECT_EQ(python("max_pool2d", {{"self", "x"}, {"kernel_size", "[2, 2]"}, {"ceil_mode", "True"}}),
            "torch.max_pool2d(x, [2, 2], ceil_mode=True)");
  EXPECT_EQ(cpp("max_pool2d", {{"self", "x"}, {"kernel_size", "{2, 2}"}}), "torch::max_pool2d(x, {2, 2})");
  EXPECT_EQ(cpp("max_pool2d", {{"self", "x"}, {"kernel_size", "{2, 2}"}, {"ceil_mode", "true"}}), "");
  EXPECT_EQ(python("view", {{"self", "x"}, {"size", "[-1, 8]"}}), "x.view(-1, 8)");
  EXPECT_EQ(python("view", {{"self", "x"}, {"size", "sizes"}}), "x.view(sizes)");
  EXPECT_EQ(cpp("view", {{"self", "x"}, {"size", "{-1, 8}"}}), "x.view({-1, 8})");
  EXPECT_EQ(python("slice.Tensor", {{"self", "x"}, {"dim", "1"}, {"start", "0"}, {"end", "3"}}), "x[:, :3]");
  EXPECT_EQ(python("slice.Tensor", {{"self", "x"}, {"dim", "0"}, {"end", absl::StrCat(INT64_MAX)}, {"step", "2"}}),
            "x[::2]");
  EXPECT_EQ(python("select.int", {{"self", "x"}, {"dim", "1"}, {"index", "0"}}), "x.select(1, 0)");
  EXPECT_EQ(python("gelu", {{"self", "x"}, {"approximate", "\"tanh\""}}), "F.gelu(x, approximate=\"tanh\")");
  EXPECT_EQ(python("slice.Tensor", {{"self", "x"}, {"dim", "-2"}, {"start", "1"}, {"step", "2"}}), "x[..., 1::2, :]");
  EXPECT_EQ(python("slice.Tensor", {{"self", "x"}, {"dim", "5"}, {"end", "3"}}),
            "torch.ops.aten.slice.Tensor(x, 5, end=3)");
  EXPECT_EQ(python("view", {{"self", "x"}, {"size", "[n] + [2]"}}), "x.view([n] + [2])");
  EXPECT_EQ(python("add.Tensor", {{"self", "x - 1"}, {"other", "y"}}), "(x - 1) + y");
  EXPECT_EQ(python("add.Tensor", {{"self", "x"}, {"other", "y"}, {"alpha", "2"}}), "torch.add(x, y, alpha=2)");
  EXPECT_EQ(python("rsub.Scalar", {{"self", "x"}, {"other", "1"}}), "1 - x");
  EXPECT_EQ(python("to.dtype", {{"self", "x"}, {"dtype", "y.dtype"}}), "x.to(y.dtype)");
  EXPECT_EQ(python("to.dtype", {{"self", "x"}, {"dtype", "torch.int64"}, {"copy", "True"}}),
            "torch.ops.aten.to.dtype(x, torch.int64, copy=True)");
  EXPECT_EQ(python("size", {{"self", "x"}}), "list(x.shape)");
  EXPECT_EQ(python("len.t", {{"a", "list(x.shape)"}}), "len(x.shape)");
  EXPECT_EQ(python("__getitem__.t", {{"list", "list(x.shape)"}, {"idx", "-1"}}), "x.shape[-1]");
  EXPECT_EQ(python("slice.t", {{"l", "list(x.shape)"}, {"start", "1"}}), "list(x.shape[1:])");
  EXPECT_EQ(python("slice.t", {{"l", "sizes"}, {"end", "n"}, {"step", "2"}}), "sizes[:n:2]");
  EXPECT_EQ(python("__not__", {{"self", "a and b"}}), "not (a and b)");
  EXPECT_EQ(python("floordiv.int", {{"a", "n"}, {"b", "2"}}), "n // 2");
  EXPECT_EQ(cpp("floordiv.int", {{"a", "n"}, {"b", "2"}}), "");
  EXPECT_EQ(python("uniform_", {{"self", "x"}, {"from", "-1"}, {"to", "1"}}), "x.uniform_(-1, 1)");
  EXPECT_EQ(cpp("mul.int", {{"a", "n + 1"}, {"b", "f(n - 1)"}}), "(n + 1) * f(n - 1)");
  EXPECT_EQ(cpp("neg.int", {{"a", "-n"}}), "-(-n)");
  EXPECT_EQ(cpp("neg.float", {{"a", "-2.5"}}), "-(-2.5)");
  EXPECT_EQ(cpp("add.int", {{"a", "n"}, {"b", "-2"}}), "n + -2");
  EXPECT_EQ(python("relu_", {{"self", "x"}}), "x.relu_()");
  EXPECT_EQ(cpp("size.int", {{"self", "x"}, {"dim", "0"}}), "x.size(0)");
}

// A model of aten calls: "name = type arguments", where %name is another value.
std::string OutputType(const std::vector<std::string>& lines, const std::vector<Shape>& inputs) {
  v1::ModelGraph model;
  v1::Graph* const graph = model.add_graphs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    v1::Port* const port = graph->add_inputs();
    port->set_name(absl::StrCat("x", i));
    *port->mutable_type() = graph::TensorType(v1::Tensor::FLOAT32, inputs[i]);
  }
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    v1::Node* const node = graph->add_nodes();
    node->set_name(parts[0]);
    node->mutable_op()->set_type(parts[1]);
    for (size_t i = 2; i < parts.size(); ++i) {
      const std::vector<std::string> sides = absl::StrSplit(parts[i], absl::MaxSplits('=', 1));
      if (sides[1][0] == '%') {
        const std::vector<std::string> source = absl::StrSplit(sides[1].substr(1), ':');
        v1::Edge* const edge = node->add_inputs();
        edge->set_node(source[0]);
        edge->set_slot(source.size() > 1 ? std::stoi(source[1]) : 0);
        edge->set_arg(sides[0]);
      } else {
        v1::Attribute* const attribute = node->mutable_op()->add_attr();
        attribute->set_key(sides[0]);
        *attribute->mutable_value() = ValueOf(sides[1]);
      }
    }
    if (parts[1] == "prim::ListUnpack") node->add_outputs(), node->add_outputs();
  }
  graph->add_outputs()->set_node(graph->nodes(graph->nodes_size() - 1).name());
  const absl::Status status = graph::InferTypes(&model, FindOp);
  if (!status.ok()) return std::string(status.message());
  return graph::TypeToText(graph->nodes(graph->nodes_size() - 1).outputs(0));
}

TEST(AtenFunctions, SizesOfAnUnknownBatchAreFollowed) {
  const std::string size = "n aten::size.int self=%x0 dim=0";
  EXPECT_EQ(OutputType({size, "list prim::ListConstruct 0=%n 1=-1", "y aten::view self=%x0 size=%list"}, {{-1, 3, 4}}),
            "float32[-1, 12]");
  EXPECT_EQ(
      OutputType({size, "list prim::ListConstruct 0=%n 1=6 2=2", "y aten::view self=%x0 size=%list"}, {{-1, 3, 4}}),
      "float32[-1, 6, 2]");
  // The sizes of something else: anything may come out.
  EXPECT_EQ(
      OutputType({size, "list prim::ListConstruct 0=%n 1=-1", "y aten::view self=%x1 size=%list"}, {{-1, 3}, {-1, 4}}),
      "float32[-1, -1]");
  // Arithmetic on sizes that are known, and on one that is not.
  EXPECT_EQ(OutputType({"c aten::size.int self=%x0 dim=1", "d aten::mul.int a=%c b=2",
                        "list prim::ListConstruct 0=-1 1=%d", "y aten::view self=%x0 size=%list"},
                       {{-1, 3, 4}}),
            "float32[-1, 6]");
  EXPECT_EQ(OutputType({size, "m aten::mul.int a=%n b=3", "list prim::ListConstruct 0=%m 1=-1",
                        "y aten::view self=%x0 size=%list"},
                       {{-1, 3, 4}}),
            "float32[-1, -1]");
  // What is cut off from an unknown batch is not known.
  EXPECT_EQ(OutputType({"y aten::slice.Tensor self=%x0 dim=0 start=0 end=3"}, {{-1, 3}}), "float32[-1, 3]");
  // Through modules and lists.
  EXPECT_EQ(OutputType({size, "conv Conv2d in_channels=3 out_channels=8 kernel_size=3 x=%x0",
                        "sizes aten::size self=%conv", "b aten::__getitem__.t list=%sizes idx=0",
                        "list prim::ListConstruct 0=%b 1=-1", "y aten::view self=%conv size=%list"},
                       {{-1, 3, 6, 6}}),
            "float32[-1, 128]");
  EXPECT_EQ(OutputType({"parts aten::chunk self=%x0 chunks=2 dim=1", "two prim::ListUnpack 0=%parts",
                        "y aten::cat tensors=%two:1 tensors=%two dim=1"},
                       {{-1, 8, 4}}),
            "float32[-1, 8, 4]");
  EXPECT_EQ(OutputType({"parts aten::split.Tensor self=%x0 split_size=3 dim=1", "two prim::ListUnpack 0=%parts",
                        "y aten::relu self=%two:1"},
                       {{-1, 5}}),
            "float32[-1, 2]");
}

// A stride halves an unknown width: the result is not the width that came in.
TEST(AtenFunctions, OfAListThatIsChangedNoItemsAreKnown) {
  const std::vector<std::string> first = {"n aten::size self=%x0", "s aten::slice.t l=%n end=1"};
  const auto viewed = [&first](const std::vector<std::string>& more) {
    std::vector<std::string> lines = first;
    lines.insert(lines.end(), more.begin(), more.end());
    lines.push_back("v aten::view self=%x0 size=%s");
    return OutputType(lines, {{2, 4}});
  };
  EXPECT_EQ(viewed({"c aten::append.t self=%s el=4"}), "float32[?]");
  EXPECT_EQ(viewed({"c aten::_set_item.t l=%s idx=0 el=8"}), "float32[?]");
  EXPECT_THAT(viewed({"c aten::mul_.Scalar self=%x0 other=2"}), testing::HasSubstr("[2, 4]"));
}

TEST(AtenFunctions, ListsAreJoinedAndRepeated) {
  const auto reshaped = [](const std::vector<std::string>& more) {
    std::vector<std::string> lines = {"n aten::size self=%x0"};
    lines.insert(lines.end(), more.begin(), more.end());
    lines.push_back("v aten::reshape self=%x0 shape=%l");
    return OutputType(lines, {{2, 4}});
  };
  EXPECT_EQ(reshaped({"l aten::add.t a=[] b=%n"}), "float32[2, 4]");
  EXPECT_EQ(reshaped({"l aten::add.t a=%n b=[1]"}), "float32[2, 4, 1]");
  EXPECT_EQ(reshaped({"o aten::slice.t l=%n end=1", "l aten::mul.left_t l=%o n=3"}), "float32[2, 2, 2]");
  EXPECT_EQ(reshaped({"o aten::slice.t l=%n end=1", "l aten::mul.left_t l=%o n=0"}), "float32[?]");
}

TEST(AtenFunctions, AnUnknownSizeThatAWindowChangesIsAnotherOne) {
  EXPECT_EQ(OutputType({"conv Conv2d in_channels=3 out_channels=8 kernel_size=3 stride=2 x=%x0",
                        "w aten::size.int self=%conv dim=3", "list prim::ListConstruct 0=%w 1=-1",
                        "y aten::view self=%x0 size=%list"},
                       {{1, 3, 6, -1}}),
            "float32[-1, -1]");
}

}  // namespace
}  // namespace lanista::ops
