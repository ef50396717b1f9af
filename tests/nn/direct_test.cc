#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/linear.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "engines/model_builder.h"
#include "google/protobuf/text_format.h"
#include "src/nn/nn.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::unique_ptr<ModelBuilder> Builder() {
  v1::EngineConfig config;
  config.mutable_direct();
  return *ModelBuilderRegistry::Get().Create(config);
}

v1::SpaceConfig Config(const std::string& text) {
  v1::SpaceConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

Space Discovered(const std::string& text) {
  const auto spec = Builder()->Discover(Config(text), {});
  EXPECT_TRUE(spec.ok()) << spec.status();
  return *Space::FromProto(*spec);
}

std::string DiscoveryError(const std::string& text) {
  const auto spec = Builder()->Discover(Config(text), {});
  return std::string(spec.status().ToString());
}

std::vector<std::string> Labels(const Space& space) {
  std::vector<std::string> labels;
  for (const v1::Choice& choice : space.spec().choices()) labels.push_back(choice.label());
  return labels;
}

// ---- The hub ----

struct HubSpace {
  std::string config;
  std::string size;
  std::vector<int64_t> input;
  int64_t outputs;
};

class HubTest : public testing::TestWithParam<HubSpace> {};

TEST_P(HubTest, IsDiscoveredWithItsSizeAndItsModelsRun) {
  const HubSpace& hub = GetParam();
  const Space space = Discovered(hub.config);
  ASSERT_TRUE(space.size().has_value());
  EXPECT_EQ(space.size()->get_str(), hub.size);
  EXPECT_THAT(space.spec().warnings(), ElementsAre());
  std::mt19937_64 random(1);
  for (int i = 0; i < 5; ++i) {
    const v1::Sample sample = space.Random(random);
    const auto built = Builder()->Build(Config(hub.config), sample, 1);
    ASSERT_TRUE(built.ok()) << built.status();
    EXPECT_EQ(Space::ToJson(built->actual_sample), Space::ToJson(sample));
    EXPECT_EQ(built->model->forward(torch::rand(hub.input)).sizes(), (std::vector<int64_t>{hub.input[0], hub.outputs}))
        << Space::ToJson(sample);
  }
}

INSTANTIATE_TEST_SUITE_P(Hub, HubTest,
                         testing::Values(HubSpace{R"(registered: "mnist_cnn")", "18", {2, 1, 28, 28}, 10},
                                         HubSpace{R"(registered: "mlp" params { key: "inputs" value { i: 6 } }
                                params { key: "outputs" value { i: 1 } })",
                                                  "117",
                                                  {2, 2, 3},
                                                  1},
                                         HubSpace{R"(registered: "cell_cnn")", "1536", {2, 1, 28, 28}, 10},
                                         HubSpace{R"(registered: "cell_cnn" params { key: "in_channels" value { i: 3 } }
                                params { key: "channels" value { i: 4 } } params { key: "cells" value { i: 5 } }
                                params { key: "nodes" value { i: 2 } } params { key: "classes" value { i: 4 } })",
                                                  "96",
                                                  {2, 3, 9, 9},
                                                  4}));

v1::DataSpec Data(std::vector<int64_t> shape, int64_t outputs) {
  v1::DataSpec data;
  data.mutable_model_input_shape()->Assign(shape.begin(), shape.end());
  data.set_outputs(outputs);
  return data;
}

TEST(HubTest, SpacesTakeSizesFromTheDataUnlessParametersSayOthers) {
  const auto outputs = [](const std::string& config, const std::vector<int64_t>& shape) {
    const auto builder = Builder();
    builder->set_data(Data(shape, 7));
    const auto spec = builder->Discover(Config(config), {});
    EXPECT_TRUE(spec.ok()) << spec.status();
    const auto built = builder->Build(Config(config), Space::FromProto(*spec)->Unrank(0), 1);
    EXPECT_TRUE(built.ok()) << built.status();
    std::vector<int64_t> batch = shape;
    batch.insert(batch.begin(), 2);
    return built->model->forward(torch::rand(batch)).size(1);
  };
  EXPECT_EQ(outputs(R"(registered: "mlp")", {30}), 7);
  EXPECT_EQ(outputs(R"(registered: "mlp" params { key: "outputs" value { i: 3 } })", {2, 3}), 3);
  EXPECT_EQ(outputs(R"(registered: "cell_cnn")", {3, 16, 16}), 7);
  EXPECT_EQ(outputs(R"(registered: "mnist_cnn")", {3, 32, 20}), 7);
}

TEST(HubTest, SpacesOfImagesRefuseTablesAtOnce) {
  for (const std::string name : {"cell_cnn", "mnist_cnn"}) {
    const auto builder = Builder();
    builder->set_data(Data({30}, 2));
    const auto spec = builder->Discover(Config("registered: '" + name + "'"), {});
    EXPECT_EQ(spec.status().message(),
              name +
                  " wants images, [channels, height, width]; the samples of the dataset have shape [30]: use the "
                  "space mlp");
  }
}

TEST(HubTest, HoldsTheBuiltInSpaces) {
  for (const char* name : {"cell_cnn", "mlp", "mnist_cnn"}) {
    EXPECT_THAT(nn::ModelSpaceRegistry::Get().Names(), Contains(name));
  }
}

TEST(HubTest, TheQuickStartNetworkIsTheOneOfNnisDocuments) {
  const Space space = Discovered(R"(registered: "mnist_cnn")");
  EXPECT_THAT(Labels(space), ElementsAre("conv2", "dropout", "feature"));
  const auto sample = space.FromJson(R"({"conv2": "separable", "dropout": 0.75, "feature": 64})");
  const auto model = Builder()->Build(Config(R"(registered: "mnist_cnn")"), *sample, 1)->model;
  int64_t parameters = 0;
  for (const auto& parameter : model->parameters()) parameters += parameter.numel();
  // conv1, depthwise, pointwise, fc1, fc2.
  EXPECT_EQ(parameters, 320 + 320 + 2112 + (9216 * 64 + 64) + 650);
  const torch::Tensor scores = model->forward(torch::rand({2, 1, 28, 28}));
  EXPECT_TRUE(torch::allclose(scores.exp().sum(1), torch::ones(2), 1e-5, 1e-6));
}

TEST(HubTest, BadParametersAreInvalid) {
  EXPECT_THAT(DiscoveryError(R"(registered: "mlp" params { key: "inputs" value { i: 0 } })"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("inputs")));
  EXPECT_THAT(DiscoveryError(R"(registered: "mlp" params { key: "inputs" value { s: "many" } })"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'inputs'"), HasSubstr("an integer")));
  EXPECT_THAT(DiscoveryError(R"(registered: "mlp" params { key: "input" value { i: 3 } })"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'input'"), HasSubstr("inputs, outputs")));
  EXPECT_THAT(DiscoveryError(R"(registered: "mnist_cnn" params { key: "x" value { i: 3 } })"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'x'"), HasSubstr("classes, height, in_channels, width")));
}

// ---- Spaces of one's own ----

class TestSpace : public nn::ModelSpace {
 public:
  torch::Tensor forward(torch::Tensor x) override { return x; }
};

// 1 without attention, 2 * 3 with it.
class Conditional : public TestSpace {
 public:
  Conditional() {
    if (nn::ValueChoice({false, true}, "attention")) {
      nn::ValueChoice({1, 2}, "heads");
      register_module("layer", nn::LayerChoice(nn::LayerChoiceOptions({
                                   [] { return torch::nn::Linear(2, 2); },
                                   [] {
                                     return torch::nn::Linear(2, nn::ValueChoice({3, 4}));
                                   },
                               })));
    }
  }
};
LANISTA_REGISTER(model_space, "conditional", nn::MakeModelSpace<Conditional>);

// Two candidates of three cannot be built.
class PartlyBroken : public TestSpace {
 public:
  PartlyBroken() {
    const auto kind = nn::ValueChoice({"fine", "torch", "other"}, "kind");
    if (kind == "torch") torch::ones({2}) + torch::ones({3});
    if (kind == "other") throw 42;
  }
};
LANISTA_REGISTER(model_space, "partly_broken", nn::MakeModelSpace<PartlyBroken>);

class NoCandidates : public TestSpace {
 public:
  NoCandidates() { nn::ValueChoice(std::vector<double>(), "rate"); }
};
LANISTA_REGISTER(model_space, "no_candidates", nn::MakeModelSpace<NoCandidates>);

class TwoMeanings : public TestSpace {
 public:
  TwoMeanings() {
    nn::ValueChoice({1, 2}, "width");
    nn::ValueChoice({1, 2, 3}, "width");
  }
};
LANISTA_REGISTER(model_space, "two_meanings", nn::MakeModelSpace<TwoMeanings>);

// One candidate of two forgets to register its layer.
class Forgetful : public TestSpace {
 public:
  Forgetful() {
    layer_ = torch::nn::Linear(2, 3);
    const auto how = nn::ValueChoice({"registered", "forgotten", "frozen"}, "how");
    if (how == "registered") register_module("layer", layer_);
    if (how == "frozen") {
      for (torch::Tensor& parameter : layer_->parameters()) parameter.requires_grad_(false);
    }
    // What is gone again is no layer of the model.
    torch::nn::Linear(5, 5)->forward(torch::ones({1, 5}));
  }

 private:
  torch::nn::Linear layer_{nullptr};
};
LANISTA_REGISTER(model_space, "forgetful", nn::MakeModelSpace<Forgetful>);

TEST(DirectDiscoveryTest, ALayerThatIsNotRegisteredIsAnError) {
  EXPECT_THAT(DiscoveryError(R"(registered: "forgetful")"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("the constructor of Forgetful"),
                    HasSubstr("([3, 2], [3])"), HasSubstr("register_module")));
}

TEST(DirectBuildTest, ALayerThatIsNotRegisteredIsAnError) {
  const auto build = [](const std::string& how) {
    v1::Sample sample;
    v1::Decision& decision = *sample.add_decisions();
    decision.set_label("how");
    *decision.add_value() = ToValue(how);
    return Builder()->Build(Config(R"(registered: "forgetful")"), sample, 1).status();
  };
  EXPECT_EQ(build("registered"), absl::OkStatus());
  EXPECT_EQ(build("frozen"), absl::OkStatus());
  EXPECT_THAT(std::string(build("forgotten").message()), HasSubstr("([3, 2], [3])"));
}

TEST(DirectDiscoveryTest, LearnsConditionsFromOrdinaryIfs) {
  const Space space = Discovered(R"(registered: "conditional")");
  EXPECT_TRUE(space.complete());
  EXPECT_EQ(space.size()->get_str(), "7");
  EXPECT_THAT(Labels(space), ElementsAre("attention", "heads", "layer_1", "layer_1/1/value_1"));
}

TEST(DirectDiscoveryTest, CandidatesThatCannotBeBuiltAreLeftOutWithWarnings) {
  const Space space = Discovered(R"(registered: "partly_broken")");
  EXPECT_EQ(space.size()->get_str(), "1");
  EXPECT_THAT(space.spec().warnings(),
              AllOf(Contains(HasSubstr("must match")), Contains(HasSubstr("no std::exception"))));
}

TEST(DirectDiscoveryTest, ASpaceThatIsWrongIsInvalid) {
  EXPECT_THAT(DiscoveryError(R"(registered: "no_candidates")"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'rate'"), HasSubstr("no candidates")));
  EXPECT_THAT(DiscoveryError(R"(registered: "two_meanings")"),
              AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("'width'"), HasSubstr("another label")));
}

TEST(DirectDiscoveryTest, AnUnknownSpaceListsTheKnownOnes) {
  EXPECT_THAT(DiscoveryError(R"(registered: "mnist_cmm")"),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("'mnist_cmm'"), HasSubstr("mlp, mnist_cnn")));
  EXPECT_EQ(Builder()->Build(Config(R"(registered: "?")"), {}, 1).status().code(), absl::StatusCode::kNotFound);
}

TEST(DirectBuildTest, TheSameSampleAndSeedGiveTheSameWeightsBitForBit) {
  const v1::SpaceConfig config = Config(R"(registered: "cell_cnn")");
  std::mt19937_64 random(3);
  const v1::Sample sample = Discovered(R"(registered: "cell_cnn")").Random(random);
  const auto parameters = [&] {
    torch::manual_seed(11);
    return Builder()->Build(config, sample, 11)->model->parameters();
  };
  const auto first = parameters();
  const auto second = parameters();
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(first[i].equal(second[i])) << i;
}

TEST(DirectBuildTest, ASampleOfAnotherSpaceIsRefusedNamingTheLabel) {
  const v1::SpaceConfig config = Config(R"(registered: "mnist_cnn")");
  v1::Sample sample = Discovered(R"(registered: "mnist_cnn")").First();
  sample.mutable_decisions(2)->mutable_value(0)->set_i(65);
  const auto status = Builder()->Build(config, sample, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("feature"));
}

TEST(DirectBuildTest, LabelsThatTheSampleLacksAreDrawnFromTheSeedAndReported) {
  const v1::SpaceConfig config = Config(R"(registered: "mnist_cnn")");
  v1::Sample sample = Discovered(R"(registered: "mnist_cnn")").First();
  sample.mutable_decisions()->DeleteSubrange(1, 2);
  const auto built = [&](uint64_t seed) {
    return Space::ToJson(Builder()->Build(config, sample, seed)->actual_sample);
  };
  EXPECT_EQ(built(5), built(5));
  std::vector<std::string> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) seen.push_back(built(seed));
  EXPECT_THAT(seen, Contains(testing::Ne(seen[0])));
  EXPECT_THAT(seen, testing::Each(AllOf(HasSubstr(R"("conv2":"conv")"), HasSubstr("dropout"), HasSubstr("feature"))));
}

TEST(DirectBuildTest, WhatTheConstructorThrowsPassesThrough) {
  v1::SpaceSpec spec = Discovered(R"(registered: "partly_broken")").spec();
  // Discovery has seen that they throw, and nobody proposes them.
  spec.clear_impossible();
  const Space space = *Space::FromProto(spec);
  const auto build = [&](const std::string& json) {
    return Builder()->Build(Config(R"(registered: "partly_broken")"), *space.FromJson(json), 1);
  };
  EXPECT_THROW(static_cast<void>(build(R"({"kind": "torch"})")), c10::Error);
  EXPECT_THROW(static_cast<void>(build(R"({"kind": "other"})")), int);
  EXPECT_TRUE(build(R"({"kind": "fine"})").ok());
}

}  // namespace
}  // namespace lanista
