#include <c10/core/InferenceMode.h>
#include <torch/optim/sgd.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engines/cgo/shared_prefix_torch.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "src/exporters/graph_formats_torch.h"
#include "src/frontends/torchscript.h"
#include "src/graph/builder.h"
#include "src/graph/mutator.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"

namespace lanista {
namespace {

using graph::Handle;
using graph::MakeOp;

// What stands between the backbone and the linear layer.
enum Gate { kIdentity, kDropout, kInPlace };

// A backbone (convolution, batch norm, ReLU in place), a gate, and a linear layer.
v1::ModelGraph Net() {
  graph::Builder net("Net", ops::FindOp);
  Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
  x = net.Add("conv", MakeOp("Conv2d", {{"in_channels", 1}, {"out_channels", 4}, {"kernel_size", 3}}), {x});
  x = net.Add("bn", MakeOp("BatchNorm2d", {{"num_features", 4}}), {x});
  x = net.Add("relu", MakeOp("ReLU", {{"inplace", true}}), {x});
  x = net.Add("flatten", MakeOp("Flatten"), {x});
  x = net.Add("gate", MakeOp("Identity"), {x});
  net.Output(net.Add("fc", MakeOp("Linear", {{"in_features", 64}, {"out_features", 3}}), {x}));
  auto model = std::move(net).Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *model;
}

// Lets them share.
std::shared_ptr<SharedPrefix> Sharing(const std::vector<std::shared_ptr<runtime::GraphModule>>& modules) {
  const auto prefix = SharedPrefix::Create();
  for (const auto& module : modules) prefix->Add(module);
  return prefix;
}

class SharedPrefixTest : public ::testing::Test {
 protected:
  SharedPrefixTest() : file_(testing::TempDir() + "/net.pt") {
    torch::manual_seed(1);
    const auto net = runtime::GraphModule::Create(Net(), {});
    EXPECT_TRUE(net.ok()) << net.status();
    EXPECT_TRUE(exporters::WriteModel(**net, "torchscript", testing::TempDir() + "/net").ok());
  }

  // The net imported from its file, with this gate; the backbone is frozen, the linear layer has weights from the seed.
  std::shared_ptr<runtime::GraphModule> Model(Gate gate, uint64_t seed, bool frozen = true) {
    v1::SpaceConfig config;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
        R"(mutator { layer_choice {
             target: "gate"
             candidate { keep {} }
             candidate { op { type: "Dropout" } }
             candidate { op { type: "Hardtanh" attr { key: "inplace" value { b: true } }
                              attr { key: "max_val" value { f: 0.2 } } } } } })",
        &config));
    config.mutable_torchscript()->set_path(file_);
    for (const char* const target : {"conv", "bn"}) {
      if (frozen) config.add_frozen()->set_target(target);
    }
    auto base = frontends::ImportTorchScript(config.torchscript());
    EXPECT_TRUE(base.ok()) << base.status();
    const auto space = graph::GraphSpace::Create(*base, config, ops::FindOp, nullptr);
    EXPECT_TRUE(space.ok()) << space.status();
    graph::Chooser chooser([gate](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
      v1::Decision decision;
      decision.set_label(choice.label());
      decision.add_index(gate);
      *decision.add_value() = choice.candidates(gate);
      return decision;
    });
    const auto model = space->Materialise(chooser);
    EXPECT_TRUE(model.ok()) << model.status();
    torch::manual_seed(seed);
    auto module = runtime::GraphModule::Create(*model, {});
    EXPECT_TRUE(module.ok()) << module.status();
    return *module;
  }

  // Losses of some steps of each model, trained in turns on shared batches.
  static std::vector<std::vector<double>> Train(const std::vector<std::shared_ptr<runtime::GraphModule>>& models) {
    std::vector<std::vector<double>> losses(models.size());
    std::vector<std::unique_ptr<torch::optim::SGD>> optimizers;
    for (size_t i = 0; i < models.size(); ++i) {
      std::vector<torch::Tensor> trained;
      for (const torch::Tensor& parameter : models[i]->parameters()) {
        if (parameter.requires_grad()) trained.push_back(parameter);
      }
      optimizers.push_back(std::make_unique<torch::optim::SGD>(trained, 0.1));
    }
    torch::manual_seed(7);
    for (int step = 0; step < 5; ++step) {
      const torch::Tensor batch = torch::randn({4, 1, 6, 6});
      for (size_t i = 0; i < models.size(); ++i) {
        models[i]->train(step < 4);
        torch::manual_seed(step);
        const torch::Tensor loss = models[i]->forward(batch).square().mean();
        optimizers[i]->zero_grad();
        loss.backward();
        optimizers[i]->step();
        losses[i].push_back(loss.item<double>());
      }
      torch::manual_seed(100 + step);
    }
    return losses;
  }

  const std::string file_;
};

TEST_F(SharedPrefixTest, FrozenPartsRunOnceAndEachModelComputesWhatItWouldAlone) {
  std::vector<std::shared_ptr<runtime::GraphModule>> apart, together;
  for (const uint64_t seed : {1, 2, 3}) apart.push_back(Model(kIdentity, seed));
  for (const uint64_t seed : {1, 2, 3}) together.push_back(Model(kIdentity, seed));
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
  EXPECT_EQ(prefix->steps_saved(), 5 * 2 * 5) << "five batches, two models that find five steps done";
}

TEST_F(SharedPrefixTest, FrozenWeightsAreInMemoryOnce) {
  const auto first = Model(kIdentity, 1), second = Model(kDropout, 2);
  const auto prefix = Sharing({first, second});
  for (const char* const weight : {"conv.weight", "bn.bias", "fc.weight"}) {
    EXPECT_EQ(first->named_parameters()[weight].data_ptr() == second->named_parameters()[weight].data_ptr(),
              std::string(weight) != "fc.weight")
        << weight;
  }
  EXPECT_EQ(first->named_buffers()["bn.running_var"].data_ptr(), second->named_buffers()["bn.running_var"].data_ptr());
}

TEST_F(SharedPrefixTest, AChangeOfFrozenWeightsIsFound) {
  const auto first = Model(kIdentity, 1), second = Model(kDropout, 2);
  const auto prefix = Sharing({first, second});
  const torch::Tensor batch = torch::randn({4, 1, 6, 6});
  first->forward(batch);
  {
    const torch::NoGradGuard no_grad;
    second->named_parameters()["conv.weight"].mul_(2);
  }
  EXPECT_THROW(first->forward(batch), c10::Error);
}

TEST_F(SharedPrefixTest, InputsThatHaveAHistoryOrCannotBeWatchedAreNotShared) {
  const auto first = Model(kIdentity, 1), second = Model(kIdentity, 2);
  const auto prefix = Sharing({first, second});
  const torch::Tensor batch = torch::randn({4, 1, 6, 6}).requires_grad_();
  first->forward(batch).sum().backward();
  second->forward(batch).sum().backward();
  const torch::InferenceMode inference;
  const torch::Tensor validation = torch::randn({4, 1, 6, 6});
  first->forward(validation);
  second->forward(validation);
  EXPECT_EQ(prefix->steps_saved(), 0);
}

TEST_F(SharedPrefixTest, ModelsThatPartSoonerShareLess) {
  const std::vector<Gate> gates = {kIdentity, kInPlace, kDropout, kIdentity, kInPlace, kDropout};
  std::vector<std::shared_ptr<runtime::GraphModule>> apart, together;
  for (size_t i = 0; i < gates.size(); ++i) apart.push_back(Model(gates[i], i));
  for (size_t i = 0; i < gates.size(); ++i) together.push_back(Model(gates[i], i));
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
  EXPECT_GE(prefix->steps_saved(), 5 * 5 * 4) << "all but the first find the backbone's four steps done";
}

// Models of these graphs, with weights from their numbers.
std::vector<std::shared_ptr<runtime::GraphModule>> Modules(const std::vector<v1::ModelGraph>& graphs) {
  std::vector<std::shared_ptr<runtime::GraphModule>> modules;
  for (const v1::ModelGraph& graph : graphs) {
    torch::manual_seed(modules.size());
    auto module = runtime::GraphModule::Create(graph, {});
    EXPECT_TRUE(module.ok()) << module.status();
    modules.push_back(*module);
  }
  return modules;
}

v1::ModelGraph Finish(graph::Builder net, const Handle& output) {
  net.Output(output);
  auto model = std::move(net).Build();
  EXPECT_TRUE(model.ok()) << model.status();
  return *model;
}

TEST_F(SharedPrefixTest, ModelsMayNeedDifferentValuesAfterwards) {
  // All compute t1, s2 and t3; then one layer reads t3, the other one of the three.
  const auto net = [](int read) {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    std::vector<Handle> values = {net.Add("flatten", MakeOp("Flatten"), {x})};
    values.push_back(net.Add("t1", MakeOp("Tanh"), {values.back()}));
    values.push_back(net.Add("s2", MakeOp("Sigmoid"), {values.back()}));
    values.push_back(net.Add("t3", MakeOp("Tanh"), {values.back()}));
    const auto linear = MakeOp("Linear", {{"in_features", 36}, {"out_features", 3}});
    const Handle a = net.Add("fc1", linear, {values[static_cast<size_t>(read)]});
    const Handle b = net.Add("fc2", linear, {values[3]});
    const Handle sum = net.Add("sum", MakeOp("aten::add.Tensor"), {{"self", a}, {"other", b}});
    return Finish(std::move(net), sum);
  };
  const std::vector<v1::ModelGraph> graphs = {net(1), net(2), net(3), net(1)};
  const auto apart = Modules(graphs), together = Modules(graphs);
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
  EXPECT_GE(prefix->steps_saved(), 5 * 3 * 4);
}

TEST_F(SharedPrefixTest, AModelMayEndWhereAnotherGoesOn) {
  const auto net = [](bool goes_on) {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    const Handle tanh = net.Add("tanh", MakeOp("Tanh"), {x});
    const Handle relu = net.Add("relu", MakeOp("Sigmoid"), {tanh});
    if (!goes_on) return Finish(std::move(net), relu);
    const Handle conv =
        net.Add("conv", MakeOp("Conv2d", {{"in_channels", 1}, {"out_channels", 2}, {"kernel_size", 3}}), {tanh});
    return Finish(std::move(net), conv);
  };
  const auto modules = Modules({net(false), net(true)});
  const torch::Tensor batch = torch::randn({4, 1, 6, 6});
  const torch::Tensor first = modules[0]->forward(batch), second = modules[1]->forward(batch);
  const auto prefix = Sharing(modules);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(modules[0]->forward(batch).equal(first));
    EXPECT_TRUE(modules[1]->forward(batch).equal(second));
  }
}

TEST_F(SharedPrefixTest, ValuesThatAreViewsOfEachOtherStayViews) {
  const auto net = [](double limit) {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    const Handle tanh = net.Add("tanh", MakeOp("Tanh"), {x});
    const Handle view = net.Add("flatten", MakeOp("Flatten"), {tanh});
    const Handle cut =
        net.Add("cut", MakeOp("Hardtanh", {{"min_val", -limit}, {"max_val", limit}, {"inplace", true}}), {tanh});
    const Handle other = net.Add("flatten_2", MakeOp("Flatten"), {cut});
    const Handle sum = net.Add("sum", MakeOp("aten::add.Tensor"), {{"self", view}, {"other", other}});
    return Finish(std::move(net), net.Add("fc", MakeOp("Linear", {{"in_features", 36}, {"out_features", 3}}), {sum}));
  };
  const std::vector<v1::ModelGraph> graphs = {net(0.25), net(0.5), net(0.125)};
  const auto apart = Modules(graphs), together = Modules(graphs);
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
}

TEST_F(SharedPrefixTest, AListThatModelsChangeIsEachOnesOwn) {
  const auto net = [] {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    const Handle sizes = net.Add("size", MakeOp("aten::size"), {{"self", x}});
    const Handle batch = net.Add("batch", MakeOp("aten::slice.t", {{"end", 1}}), {{"l", sizes}});
    const Handle shape = net.Add("shape", MakeOp("aten::append.t", {{"el", 36}}), {{"self", batch}});
    const Handle flat = net.Add("flat", MakeOp("aten::reshape"), {{"self", x}, {"shape", shape}});
    return Finish(std::move(net), net.Add("fc", MakeOp("Linear", {{"in_features", 36}, {"out_features", 3}}), {flat}));
  };
  const std::vector<v1::ModelGraph> graphs = {net(), net(), net()};
  const auto apart = Modules(graphs), together = Modules(graphs);
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
  EXPECT_EQ(prefix->steps_saved(), 5 * 2 * 2) << "five batches, two models that find two steps done";
}

TEST_F(SharedPrefixTest, ADeviceThatIsNeededAfterwardsKeepsNothingFromBeingShared) {
  const auto net = [] {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    const Handle tanh = net.Add("tanh", MakeOp("Tanh"), {x});
    const Handle flat = net.Add("flat", MakeOp("Flatten"), {tanh});
    const Handle device = net.Add("device", MakeOp("prim::device"), {{"a", flat}});
    const Handle noise =
        net.Add("noise", MakeOp("aten::rand", {{"size", graph::IntsValue({1, 36})}}), {{"device", device}});
    const Handle sum = net.Add("sum", MakeOp("aten::add.Tensor"), {{"self", flat}, {"other", noise}});
    return Finish(std::move(net), net.Add("fc", MakeOp("Linear", {{"in_features", 36}, {"out_features", 3}}), {sum}));
  };
  const std::vector<v1::ModelGraph> graphs = {net(), net()};
  const auto apart = Modules(graphs), together = Modules(graphs);
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
  EXPECT_EQ(prefix->steps_saved(), 5 * 3) << "five batches, one model that finds three steps done";
}

TEST_F(SharedPrefixTest, ValuesWithGapsAreNotCopied) {
  // A copy would have other strides, and kernels that sum in another order.
  const auto net = [] {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    const Handle tanh = net.Add("tanh", MakeOp("Tanh"), {x});
    const Handle slice =
        net.Add("slice", MakeOp("aten::slice.Tensor", {{"dim", 3}, {"start", 1}, {"end", 5}}), {{"self", tanh}});
    const Handle norm = net.Add("norm", MakeOp("BatchNorm2d", {{"num_features", 1}}), {slice});
    const Handle flat = net.Add("flatten", MakeOp("Flatten"), {norm});
    return Finish(std::move(net), net.Add("fc", MakeOp("Linear", {{"in_features", 24}, {"out_features", 3}}), {flat}));
  };
  const std::vector<v1::ModelGraph> graphs = {net(), net(), net()};
  const auto apart = Modules(graphs), together = Modules(graphs);
  const auto prefix = Sharing(together);
  EXPECT_EQ(Train(together), Train(apart));
}

// Networks of steps that keep the shape: new values, views, changes in place, sums, dropout.
class RandomNetwork {
 public:
  explicit RandomNetwork(std::mt19937* random) : random_(*random) {
    const int steps = Draw(4, 12);
    for (int i = 1; i <= steps; ++i) steps_.push_back(DrawStep(i));
  }

  // As it is, but for one step.
  RandomNetwork Changed() const {
    RandomNetwork other = *this;
    const int at = Draw(0, static_cast<int>(steps_.size()) - 1);
    other.steps_[static_cast<size_t>(at)] = DrawStep(at + 1);
    return other;
  }

  v1::ModelGraph Graph() const {
    graph::Builder net("Net", ops::FindOp);
    const Handle x = net.Input("x", graph::TensorType(v1::Tensor::FLOAT32, {-1, 1, 6, 6}));
    // The batch itself is its owner's matter.
    std::vector<Handle> values = {net.Add("first", MakeOp("Tanh"), {x})};
    for (const Step& step : steps_) {
      const std::string name = absl::StrCat("step", values.size());
      const Handle a = values[static_cast<size_t>(step.a)], b = values[static_cast<size_t>(step.b)];
      if (step.kind == 5) {
        values.push_back(net.Add(name, Operator(step.kind), {{"self", a}, {"other", b}}));
      } else if (step.kind == 4 || step.kind == 6) {
        values.push_back(net.Add(name, Operator(step.kind), {{"self", a}}));
      } else {
        values.push_back(net.Add(name, Operator(step.kind), {a}));
      }
    }
    const Handle sum =
        net.Add("sum", MakeOp("aten::add.Tensor"), {{"self", values[values.size() / 2]}, {"other", values.back()}});
    const Handle flat = net.Add("flatten", MakeOp("Flatten"), {sum});
    return Finish(std::move(net), net.Add("fc", MakeOp("Linear", {{"in_features", 36}, {"out_features", 3}}), {flat}));
  }

 private:
  struct Step {
    int kind = 0;
    int a = 0;
    int b = 0;
  };

  int Draw(int from, int to) const { return std::uniform_int_distribution<int>(from, to)(random_); }
  Step DrawStep(int values) const { return {Draw(0, 8), Draw(0, values - 1), Draw(0, values - 1)}; }

  static v1::Node Operator(int kind) {
    switch (kind) {
      case 0:
        return MakeOp("Tanh");
      case 1:
        return MakeOp("Sigmoid");
      case 2:
        return MakeOp("Identity");
      case 3:
        return MakeOp("Hardtanh", {{"min_val", -0.4}, {"max_val", 0.4}, {"inplace", true}});
      case 4:
        return MakeOp("aten::transpose.int", {{"dim0", 2}, {"dim1", 3}});
      case 5:
        return MakeOp("aten::add.Tensor");
      case 6:
        return MakeOp("aten::mul_.Scalar", {{"other", 0.9}});
      case 7:
        return MakeOp("Dropout", {{"p", 0.3}});
      default:
        return MakeOp("ReLU", {{"inplace", true}});
    }
  }

  std::mt19937& random_;
  std::vector<Step> steps_;
};

TEST_F(SharedPrefixTest, RandomNetworksComputeWhatTheyWouldAlone) {
  std::mt19937 random(1);
  int64_t saved = 0;
  for (int round = 0; round < 150; ++round) {
    const RandomNetwork base(&random);
    const std::vector<v1::ModelGraph> graphs = {base.Graph(), base.Changed().Graph(), base.Changed().Graph(),
                                                base.Changed().Changed().Graph()};
    const auto apart = Modules(graphs), together = Modules(graphs);
    const auto prefix = Sharing(together);
    ASSERT_EQ(Train(together), Train(apart)) << "round " << round;
    saved += prefix->steps_saved();
  }
  EXPECT_GT(saved, 150 * 5 * 3);
}

TEST_F(SharedPrefixTest, WhatIsTrainedIsNotShared) {
  std::vector<std::shared_ptr<runtime::GraphModule>> together = {Model(kIdentity, 1, false),
                                                                 Model(kIdentity, 2, false)};
  const auto prefix = Sharing(together);
  Train(together);
  EXPECT_EQ(prefix->steps_saved(), 0);
}

TEST_F(SharedPrefixTest, AMemberThatIsGoneLeavesTheOthersAlone) {
  std::vector<std::shared_ptr<runtime::GraphModule>> apart = {Model(kIdentity, 1), Model(kIdentity, 2)};
  std::vector<std::shared_ptr<runtime::GraphModule>> together = {Model(kIdentity, 1), Model(kIdentity, 2),
                                                                 Model(kIdentity, 3)};
  const auto prefix = Sharing(together);
  together.pop_back();
  EXPECT_EQ(Train(together), Train(apart));
}

}  // namespace
}  // namespace lanista
