// What aten operators say about themselves against what LibTorch does.
#include <torch/torch.h>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "src/ops/aten_call_torch.h"
#include "src/ops/registry.h"
#include "tests/graph/graph_testing.h"

namespace lanista::ops {
namespace {

// A call: the node without its inputs' names, and the shapes of the tensors that its edges bring.
struct Sample {
  const char* node;
  std::vector<std::vector<int64_t>> inputs;
};

const std::vector<Sample>& Samples() {
  static const auto* const samples = new std::vector<Sample>{
      {R"(inputs { arg: "self" } op { type: "aten::relu" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::relu_" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::sigmoid" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::tanh" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::exp" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::log" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::sqrt" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::neg" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::abs" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::silu" })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::hardswish" })", {{2, 3}}},
      {R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::add.Tensor" })", {{2, 3, 4}, {3, 1}}},
      {R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::add_.Tensor" })", {{2, 3, 4}, {3, 1}}},
      {R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::sub.Tensor" })", {{3, 1}, {2, 3, 4}}},
      {R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::mul.Tensor" })", {{2, 3}, {2, 3}}},
      {R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::mul_.Tensor" })", {{2, 3}, {2, 3}}},
      {R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::div.Tensor" })", {{2, 3}, {1}}},
      {R"(inputs { arg: "self" } op { type: "aten::add.Scalar" attr { key: "other" value { i: 2 } } })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::sub.Scalar" attr { key: "other" value { i: 2 } } })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::mul.Scalar" attr { key: "other" value { f: 2 } } })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::div.Scalar" attr { key: "other" value { i: 2 } } })", {{2, 3}}},
      {R"(inputs { arg: "input" } op { type: "aten::dropout" attr { key: "p" value { f: 0.5 } }
          attr { key: "train" value { b: true } } })",
       {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::softmax.int" attr { key: "dim" value { i: 1 } } })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::log_softmax.int" attr { key: "dim" value { i: -1 } } })", {{2, 3}}},
      {R"(inputs { arg: "self" } op { type: "aten::flatten.using_ints" attr { key: "start_dim" value { i: 1 } } })",
       {{2, 3, 4, 5}}},
      {R"(inputs { arg: "tensors" } inputs { arg: "tensors" } op { type: "aten::cat" attr { key: "dim" value { i: 1 } } })",
       {{2, 3, 4}, {2, 5, 4}}},
      {R"(inputs { arg: "self" } op { type: "aten::mean.dim" attr { key: "dim" value { list { values { i: 2 } values { i: -1 } } } } })",
       {{2, 3, 4, 5}}},
      {R"(inputs { arg: "self" } op { type: "aten::mean.dim" attr { key: "dim" value { list { values { i: 1 } } } }
          attr { key: "keepdim" value { b: true } } })",
       {{2, 3, 4}}},
      {R"(inputs { arg: "self" } op { type: "aten::max_pool2d" attr { key: "kernel_size" value { list { values { i: 3 } values { i: 2 } } } }
          attr { key: "padding" value { list { values { i: 1 } values { i: 0 } } } } attr { key: "ceil_mode" value { b: true } } })",
       {{2, 3, 9, 9}}},
      {R"(inputs { arg: "self" } op { type: "aten::max_pool2d" attr { key: "kernel_size" value { list { values { i: 3 } values { i: 3 } } } }
          attr { key: "stride" value { list { values { i: 2 } values { i: 2 } } } } })",
       {{2, 3, 9, 8}}},
      {R"(inputs { arg: "self" } op { type: "aten::adaptive_avg_pool2d" attr { key: "output_size" value { list { values { i: 1 } values { i: 1 } } } } })",
       {{2, 3, 4, 5}}},
  };
  return *samples;
}

v1::Node NodeOf(const Sample& sample) {
  auto node = graph::Parse<v1::Node>(sample.node);
  for (v1::Edge& edge : *node.mutable_inputs()) edge.set_node("x");
  return node;
}

TEST(AtenFunctions, InferTheShapesThatLibTorchGives) {
  for (const Sample& sample : Samples()) {
    SCOPED_TRACE(sample.node);
    const v1::Node node = NodeOf(sample);
    const graph::OpSchema* const schema = FindOp(node.op().type());
    ASSERT_NE(schema, nullptr);
    ASSERT_TRUE(schema->CheckAttributes(node.op()).ok()) << schema->CheckAttributes(node.op());
    std::vector<c10::IValue> inputs, outputs;
    std::vector<v1::ValueType> types, open_types;
    for (const std::vector<int64_t>& shape : sample.inputs) {
      inputs.emplace_back(torch::rand(shape));
      types.push_back(graph::TensorType(v1::FLOAT32, shape));
      std::vector<int64_t> open = shape;
      if (open[0] == 2) open[0] = -1;
      open_types.push_back(graph::TensorType(v1::FLOAT32, open));
    }
    auto call = AtenCall::Create(node);
    ASSERT_TRUE(call.ok()) << call.status();
    call->Run(inputs, &outputs);
    const std::vector<int64_t> real = outputs.at(0).toTensor().sizes().vec();

    const graph::Attributes attributes(*schema, node.op());
    const auto inferred = schema->InferTypes({node, attributes, types});
    ASSERT_TRUE(inferred.ok()) << inferred.status();
    EXPECT_EQ(graph::DimsOf((*inferred)[0]), real);
    const auto open = schema->InferTypes({node, attributes, open_types});
    ASSERT_TRUE(open.ok()) << open.status();
    std::vector<int64_t> expected = real;
    expected[0] = -1;
    EXPECT_EQ(graph::DimsOf((*open)[0]), expected);
  }
}

TEST(AtenFunctions, AreAllTried) {
  std::set<std::string> tried;
  for (const Sample& sample : Samples()) tried.insert(NodeOf(sample).op().type());
  for (const std::string& type : OpTypes()) {
    if (!absl::StartsWith(type, "aten::")) continue;
    EXPECT_EQ(tried.count(type), 1u) << type << " has no sample here";
    EXPECT_NE(FindAtenOperator(type), nullptr) << type << " is none of LibTorch's";
  }
}

TEST(AtenFunctions, RefuseWhatDoesNotFit) {
  const v1::Node node =
      NodeOf({R"(inputs { arg: "self" } inputs { arg: "other" } op { type: "aten::add.Tensor" })", {}});
  const graph::OpSchema* const schema = FindOp("aten::add.Tensor");
  const auto types =
      schema->InferTypes({node,
                          graph::Attributes(*schema, node.op()),
                          {graph::TensorType(v1::FLOAT32, {2, 3}), graph::TensorType(v1::FLOAT32, {2, 4})}});
  EXPECT_EQ(types.status().message(), "cannot combine float32[2, 3] with float32[2, 4]");
}

TEST(AtenFunctions, ReadAsAPersonWritesThem) {
  const graph::OpSchema* const pool = FindOp("aten::max_pool2d");
  EXPECT_EQ(*pool->PythonCall({{"self", "x"}, {"kernel_size", "[2, 2]"}, {"ceil_mode", "True"}}),
            "torch.max_pool2d(x, [2, 2], ceil_mode=True)");
  EXPECT_EQ(*pool->CppCall({{"self", "x"}, {"kernel_size", "{2, 2}"}}), "torch::max_pool2d(x, {2, 2})");
  EXPECT_FALSE(pool->CppCall({{"self", "x"}, {"kernel_size", "{2, 2}"}, {"ceil_mode", "true"}}).ok());
}

}  // namespace
}  // namespace lanista::ops
