#include <torch/nn/functional/loss.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/optim/adam.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "src/graph/graph.h"
#include "src/nn/state_dict.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"
#include "tests/graph/graph_testing.h"

namespace lanista::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::shared_ptr<GraphModule> Make(const v1::ModelGraph& graph) {
  const absl::Status valid = graph::Validate(graph, ops::FindOp);
  EXPECT_TRUE(valid.ok()) << valid;
  auto module = GraphModule::Create(graph, {});
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *module : nullptr;
}

// The same network by hand.
struct HandWritten : torch::nn::Module {
  HandWritten() {
    conv1 = register_module("conv1", torch::nn::Conv2d(torch::nn::Conv2dOptions(1, 4, 3)));
    conv2 = register_module("conv2", torch::nn::Conv2d(torch::nn::Conv2dOptions(4, 4, 3).padding(1)));
    fc1 = register_module("fc1", torch::nn::Linear(144, 16));
    fc2 = register_module("fc2", torch::nn::Linear(16, 10));
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(conv2(torch::relu(conv1(x))));
    return fc2(fc1(torch::dropout(x, 0.5, is_training()).flatten(1)));
  }
  torch::nn::Conv2d conv1{nullptr}, conv2{nullptr};
  torch::nn::Linear fc1{nullptr}, fc2{nullptr};
};

std::string TempPath(const std::string& name) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  return absl::StrCat(folder == nullptr ? "/tmp" : folder, "/", name);
}

TEST(GraphModule, HasParametersUnderTheirPaths) {
  std::vector<std::string> names;
  for (const auto& parameter : Make(graph::SmallNet())->named_parameters()) names.push_back(parameter.key());
  EXPECT_THAT(names, ElementsAre("conv1.weight", "conv1.bias", "conv2.weight", "conv2.bias", "head.fc1.weight",
                                 "head.fc1.bias", "head.fc2.weight", "head.fc2.bias"));
}

TEST(GraphModule, StartsAndTrainsAsTheSameNetworkByHand) {
  torch::manual_seed(3);
  const auto ours = Make(graph::SmallNet());
  torch::manual_seed(3);
  HandWritten theirs;
  torch::optim::Adam our_optimizer(ours->parameters()), their_optimizer(theirs.parameters());
  const auto step = [](auto& model, torch::optim::Adam& optimizer, int64_t i) {
    torch::manual_seed(100 + i);
    const torch::Tensor x = torch::randn({8, 1, 8, 8});
    const torch::Tensor target = torch::randint(10, {8});
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(model.forward(x), target);
    loss.backward();
    optimizer.step();
    return loss.template item<float>();
  };
  for (int64_t i = 0; i < 20; ++i) {
    const float ours_loss = step(*ours, our_optimizer, i);
    EXPECT_EQ(ours_loss, step(theirs, their_optimizer, i)) << "step " << i;
  }
}

TEST(GraphModule, FreesValuesAfterTheirLastUse) {
  // A long chain holds one value at a time.
  v1::ModelGraph graph = graph::Parse<v1::ModelGraph>(R"(graphs { name: "g" inputs { name: "x" } })");
  std::string last = "x";
  for (int i = 0; i < 50; ++i) {
    v1::Node& node = *graph.mutable_graphs(0)->add_nodes();
    node.set_name(absl::StrCat("n", i));
    node.add_inputs()->set_node(last);
    node.mutable_op()->set_type("Sigmoid");
    last = node.name();
  }
  graph.mutable_graphs(0)->add_outputs()->set_node(last);
  const auto module = Make(graph);
  module->eval();
  const torch::NoGradGuard no_grad;
  torch::Tensor input = torch::zeros({4});
  const c10::weak_intrusive_ptr<c10::TensorImpl> weak(input.getIntrusivePtr());
  const torch::Tensor output = module->forward(std::move(input));
  EXPECT_EQ(weak.use_count(), 0u) << "the input went with its only reader";
  EXPECT_EQ(output.use_count(), 1u) << "the module keeps nothing";
}

TEST(GraphModule, FollowsTrainingAndEvaluation) {
  const v1::ModelGraph graph = graph::Parse<v1::ModelGraph>(R"(
    graphs {
      name: "g" inputs { name: "x" }
      nodes { name: "flag" op { type: "Training" } }
      nodes { name: "switch" inputs { node: "x" } training_switch { training: "train" evaluation: "eval" } }
      nodes {
        name: "dropout" inputs { node: "switch" arg: "input" } inputs { node: "flag" arg: "train" }
        op { type: "aten::dropout" attr { key: "p" value { f: 1 } } }
      }
      outputs { node: "dropout" } outputs { node: "flag" }
    }
    graphs {
      name: "train" inputs { name: "x" }
      nodes { name: "add" inputs { node: "x" arg: "self" } op { type: "aten::add.Scalar" attr { key: "other" value { i: 1 } } } }
      outputs { node: "add" }
    }
    graphs { name: "eval" inputs { name: "x" } outputs { node: "x" } })");
  const auto module = Make(graph);
  const auto in_training = module->Run({torch::ones({2})});
  EXPECT_TRUE(torch::equal(in_training[0].toTensor(), torch::zeros({2}))) << "all dropped";
  EXPECT_TRUE(in_training[1].toBool());
  module->eval();
  const auto in_evaluation = module->Run({torch::ones({2})});
  EXPECT_TRUE(torch::equal(in_evaluation[0].toTensor(), torch::ones({2})));
  EXPECT_FALSE(in_evaluation[1].toBool());
}

TEST(GraphModule, FrozenNodesStayInEvaluationAndGetNoGradient) {
  v1::ModelGraph graph = graph::SmallNet();
  graph.mutable_graphs(0)->mutable_nodes(0)->set_frozen(true);  // conv1
  graph.mutable_graphs(0)->mutable_nodes(4)->set_frozen(true);  // dropout
  const auto module = Make(graph);
  module->train();
  const torch::Tensor x = torch::randn({2, 1, 8, 8});
  EXPECT_TRUE(torch::equal(module->forward(x), module->forward(x))) << "nothing is dropped";
  module->forward(x).sum().backward();
  EXPECT_FALSE(module->named_parameters()["conv1.weight"].grad().defined());
  EXPECT_TRUE(module->named_parameters()["conv2.weight"].grad().defined());
}

TEST(GraphModule, ErrorsBeginWithTheNode) {
  const auto module = Make(graph::SmallNet());
  try {
    module->forward(torch::zeros({2, 3, 8, 8}));
    FAIL();
  } catch (const c10::Error& error) {
    EXPECT_THAT(std::string(error.what()), HasSubstr("node 'conv1' (Conv2d): "));
  }
  EXPECT_EQ(module->forward(torch::zeros({2, 1, 8, 8})).size(1), 10) << "the next run works";
}

TEST(GraphModule, RunsAnyAtenOperatorAndNamesTheUnknown) {
  const std::string text = R"(
    graphs {
      name: "g" inputs { name: "x" }
      nodes { name: "a" inputs { node: "x" arg: "self" } op { type: "aten::special_bessel_j0" } }
      nodes { name: "b" inputs { node: "a" arg: "tensors" } inputs { node: "x" arg: "tensors" } op { type: "aten::cat" } }
      outputs { node: "b" }
    })";
  const torch::Tensor x = torch::randn({3});
  const auto outputs = Make(graph::Parse<v1::ModelGraph>(text))->Run({x});
  EXPECT_TRUE(torch::equal(outputs[0].toTensor(), torch::cat({torch::special_bessel_j0(x), x})));

  v1::ModelGraph unknown = graph::Parse<v1::ModelGraph>(text);
  unknown.mutable_graphs(0)->mutable_nodes(0)->mutable_op()->set_type("aten::no_such_thing");
  EXPECT_EQ(GraphModule::Create(unknown, {}).status().message(),
            "node 'a': LibTorch has no operator 'aten::no_such_thing'");
}

TEST(GraphModule, RefusesNumbersOfArgumentsThatAreNone) {
  const auto model = graph::Parse<v1::ModelGraph>(R"(
    graphs {
      name: "g" inputs { name: "x" }
      nodes { name: "list" inputs { node: "x" arg: "99999999999999999999" } op { type: "prim::ListConstruct" } }
      nodes { name: "cat" inputs { node: "list" arg: "tensors" } op { type: "aten::cat" } }
      outputs { node: "cat" }
    })");
  const absl::Status status = GraphModule::Create(model, {}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "node 'list': inputs of prim::ListConstruct are numbered, not '99999999999999999999'");
}

TEST(GraphModule, SavesAndLoadsAllParametersAndBuffers) {
  v1::ModelGraph graph = graph::SmallNet();
  v1::Node& norm = *graph.mutable_graphs(0)->mutable_nodes(1);
  norm = graph::Parse<v1::Node>(R"(name: "relu" inputs { node: "conv1" }
    op { type: "BatchNorm2d" attr { key: "num_features" value { i: 4 } } })");
  graph.mutable_graphs(0)->mutable_nodes(3)->mutable_op()->set_type("ReLU");
  graph.mutable_graphs(0)->mutable_nodes(3)->clear_module();
  torch::manual_seed(1);
  const auto first = Make(graph), second = Make(graph);
  const torch::Tensor x = torch::randn({4, 1, 8, 8});
  first->forward(x);  // Changes the running statistics.
  const std::string path = TempPath("weights.pt");
  ASSERT_TRUE(first->Save(path).ok());
  const absl::Status loaded = second->Load(path);
  ASSERT_TRUE(loaded.ok()) << loaded;
  first->eval();
  second->eval();
  EXPECT_TRUE(torch::equal(first->forward(x), second->forward(x)));

  const absl::Status other = Make(graph::SmallNet())->Load(path);
  EXPECT_THAT(std::string(other.message()), HasSubstr("the model lacks 'relu.weight', 'relu.bias'"));
  std::ofstream(path) << "no weights";
  EXPECT_TRUE(absl::IsInvalidArgument(first->Load(path)));
}

TEST(StateDict, PassesPythonsWeightsOnly) {
  if (std::system("/usr/bin/python3 -c 'import torch' 2>/dev/null") != 0) GTEST_SKIP() << "needs python3-torch";
  const std::string path = TempPath("python.pt");
  ASSERT_TRUE(nn::WriteStateDict(path, {{"a.weight", torch::arange(6).reshape({2, 3}).t()},
                                        {"half", torch::ones({2}, torch::kHalf)},
                                        {"scalar", torch::tensor(7)},
                                        {"empty", torch::empty({0, 3})}})
                  .ok());
  const std::string script = absl::StrCat(
      "import torch; d = torch.load('", path,
      "', weights_only=True); assert list(d) == ['a.weight', 'half', 'scalar', 'empty'], d; "
      "assert d['a.weight'].equal(torch.arange(6).reshape(2, 3).t()); assert d['half'].dtype == torch.float16; "
      "assert d['scalar'].item() == 7 and d['empty'].shape == (0, 3); torch.save(d, '",
      path, "')");
  ASSERT_EQ(std::system(absl::StrCat("/usr/bin/python3 -c \"", script, "\"").c_str()), 0);
  const auto read = nn::ReadStateDict(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(torch::equal((*read)[0].second, torch::arange(6).reshape({2, 3}).t())) << "what torch.save wrote, too";
}

}  // namespace
}  // namespace lanista::runtime
