#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/linear.h>
#include <torch/serialize.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "src/nn/nn.h"
#include "src/space/space.h"

namespace lanista::nn {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Answers with the options that are named, all others with the first.
Construction::Answer Options(std::map<std::string, int> options) {
  return [options = std::move(options)](const v1::Choice& choice) {
    const auto found = options.find(choice.label());
    return MakeDecision(choice, found == options.end() ? 0 : found->second);
  };
}

std::vector<std::string> Labels(const Construction& construction) {
  std::vector<std::string> labels;
  for (const auto& asked : construction.asked()) labels.push_back(asked.choice.label());
  return labels;
}

template <typename Error, typename Code>
std::string ErrorOf(Code code) {
  try {
    code();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string ToString(const torch::nn::Module& module) {
  std::ostringstream stream;
  stream << module;
  return stream.str();
}

torch::Tensor Filled(double value) { return torch::full({1, 2}, value); }

// ---- LayerChoice ----

TEST(LayerChoiceTest, BuildsTheChosenCandidateOnly) {
  int built = 0;
  const LayerChoiceOptions options = LayerChoiceOptions({{"small",
                                                          [&] {
                                                            ++built;
                                                            return torch::nn::Linear(2, 3);
                                                          }},
                                                         {"large",
                                                          [] {
                                                            ADD_FAILURE() << "not chosen";
                                                            return torch::nn::Linear(2, 5);
                                                          }}})
                                         .label("layer");
  Construction construction(Options({}));
  LayerChoice layer(options);
  EXPECT_EQ(built, 1);
  EXPECT_EQ(layer->chosen(), 0);
  EXPECT_EQ(layer->forward(torch::ones({4, 2})).sizes(), (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(layer->layer()->as<torch::nn::Linear>()->options.out_features(), 3);
}

TEST(LayerChoiceTest, RegistersTheChosenLayerUnderItsName) {
  Construction construction(Options({{"layer_1", 1}}));
  LayerChoice layer(LayerChoiceOptions(
      {{"small", [] { return torch::nn::Linear(2, 3); }}, {"large", [] { return torch::nn::Linear(2, 5); }}}));
  EXPECT_THAT(layer->named_parameters().keys(), ElementsAre("large.weight", "large.bias"));
  EXPECT_THAT(ToString(*layer), HasSubstr("lanista::nn::LayerChoice(label=layer_1)"));
}

TEST(LayerChoiceTest, CandidatesWithoutNamesAreKnownByTheirNumbers) {
  Construction construction(Options({{"pick", 1}}));
  LayerChoice layer(
      LayerChoiceOptions({[] { return torch::nn::Identity(); },
                          [] { return torch::nn::Sequential(torch::nn::Linear(2, 3), torch::nn::ReLU()); }})
          .label("pick"));
  EXPECT_EQ(layer->forward(torch::ones({1, 2})).size(1), 3);
  EXPECT_EQ(Space::ToJson(construction.sample()), R"({"pick":1})");
}

TEST(LayerChoiceTest, TakesSequentialsSharedPointersAndFunctions) {
  const std::vector<LayerCandidate<>> candidates = {
      {"sequential", [] { return torch::nn::Sequential(torch::nn::Linear(2, 2)); }},
      {"pointer", [] { return std::make_shared<torch::nn::LinearImpl>(2, 2); }},
      {"function", [] { return [](torch::Tensor x) { return 2 * x; }; }}};
  for (int i = 0; i < 3; ++i) {
    Construction construction(Options({{"layer", i}}));
    LayerChoice layer(LayerChoiceOptions(candidates).label("layer"));
    EXPECT_EQ(layer->forward(Filled(1)).sizes(), (std::vector<int64_t>{1, 2})) << i;
  }
}

TEST(LayerChoiceTest, ChoicesOfACandidateExistWhereItIsChosen) {
  const auto make = [](int option) {
    Construction construction(Options({{"layer_1", option}}));
    LayerChoice layer(LayerChoiceOptions(
        {{"fixed", [] { return torch::nn::Identity(); }}, {"wide", [] {
                                                             return torch::nn::Linear(2, ValueChoice({3, 5}));
                                                           }}}));
    return Labels(construction);
  };
  EXPECT_THAT(make(0), ElementsAre("layer_1"));
  EXPECT_THAT(make(1), ElementsAre("layer_1", "layer_1/wide/value_1"));
}

TEST(LayerChoiceTest, RefusesNamesThatCannotBeSubmodules) {
  EXPECT_THAT(ErrorOf<SpaceError>([] {
                LayerChoice(LayerChoiceOptions({{"conv3.1", [] { return torch::nn::Identity(); }}}));
              }),
              HasSubstr("'conv3.1'"));
}

// ---- InputChoice ----

TEST(InputChoiceTest, ReducesTheChosenInputs) {
  const std::vector<torch::Tensor> inputs = {Filled(1), Filled(2), Filled(4)};
  // The pairs in order: 01 02 12.
  const auto forward = [&](Reduction reduction) {
    Construction construction(Options({{"skip", 1}}));
    InputChoice skip(InputChoiceOptions(3).n_chosen(2).reduction(reduction).label("skip"));
    EXPECT_THAT(skip->chosen(), ElementsAre(0, 2));
    return skip->forward(inputs);
  };
  EXPECT_TRUE(forward(Reduction::kSum).equal(Filled(5)));
  EXPECT_TRUE(forward(Reduction::kMean).equal(Filled(2.5)));
  EXPECT_TRUE(forward(Reduction::kConcat).equal(torch::cat({Filled(1), Filled(4)}, 1)));
  EXPECT_THAT(ErrorOf<c10::Error>([&] { forward(Reduction::kNone); }), HasSubstr("select"));
}

TEST(InputChoiceTest, SelectLeavesThemAsTheyAre) {
  Construction construction(Options({{"input_1", 2}}));
  InputChoice skip(InputChoiceOptions({"a", "b", "c"}).n_chosen(2).reduction(Reduction::kNone));
  const std::vector<torch::Tensor> chosen = skip->select({Filled(1), Filled(2), Filled(4)});
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_TRUE(chosen[0].equal(Filled(2)));
  EXPECT_TRUE(chosen[1].equal(Filled(4)));
  EXPECT_EQ(Space::ToJson(construction.sample()), R"({"input_1":["b","c"]})");
}

TEST(InputChoiceTest, NamesAWrongNumberOfInputs) {
  InputChoice skip(InputChoiceOptions(3).label("skip"));
  EXPECT_THAT(ErrorOf<c10::Error>([&] { skip->forward({Filled(1)}); }), HasSubstr("3 candidates but was given 1"));
}

TEST(InputChoiceTest, RefusesBadNumbers) {
  EXPECT_THAT(ErrorOf<SpaceError>([] { InputChoice(InputChoiceOptions(2).n_chosen(3)); }), HasSubstr("3 of 2"));
  EXPECT_THAT(ErrorOf<SpaceError>([] { InputChoice(InputChoiceOptions(0)); }), HasSubstr("no candidates"));
  EXPECT_THAT(ErrorOf<SpaceError>([] { InputChoice(InputChoiceOptions({"a", "a"})); }), HasSubstr("twice"));
}

// ---- Repeat ----

TEST(RepeatTest, RunsAsManyBlocksAsChosen) {
  Construction construction(Options({{"depth", 2}}));
  Repeat body(RepeatOptions(1, 4, [](int64_t) { return [](torch::Tensor x) { return 2 * x; }; }).label("depth"));
  EXPECT_EQ(body->depth(), 3);
  EXPECT_TRUE(body->forward(Filled(1)).equal(Filled(8)));
}

TEST(RepeatTest, EachBlockHasItsOwnChoicesWhereItExists) {
  const auto labels = [](int option) {
    Construction construction(Options({{"repeat_1", option}}));
    int64_t width = 2;
    Repeat body(RepeatOptions({1, 3}, [&](int64_t) {
      const int64_t before = width;
      width = ValueChoice({3, 5});
      return torch::nn::Linear(before, width);
    }));
    EXPECT_EQ(body->forward(torch::ones({1, 2})).size(1), 3);
    return Labels(construction);
  };
  EXPECT_THAT(labels(0), ElementsAre("repeat_1", "repeat_1/0/value_1"));
  EXPECT_THAT(labels(1), ElementsAre("repeat_1", "repeat_1/0/value_1", "repeat_1/1/value_1", "repeat_1/2/value_1"));
}

TEST(RepeatTest, AFixedDepthAsksNothing) {
  Construction construction(Options({}));
  Repeat body(RepeatOptions(2, [](int64_t) { return torch::nn::Linear(2, 2); }));
  EXPECT_THAT(Labels(construction), ElementsAre());
  EXPECT_THAT(body->named_parameters().keys(), ElementsAre("0.weight", "0.bias", "1.weight", "1.bias"));
}

TEST(RepeatTest, NoBlocksPassTheInputThrough) {
  Repeat body(RepeatOptions(0, 2, [](int64_t) { return torch::nn::Linear(2, 2); }));
  EXPECT_TRUE(body->forward(Filled(3)).equal(Filled(3)));
}

TEST(RepeatTest, RefusesBadDepths) {
  const BlockFactory block = [](int64_t) { return torch::nn::Identity(); };
  EXPECT_THAT(ErrorOf<SpaceError>([&] { Repeat(RepeatOptions(-1, block)); }), HasSubstr("negative depth -1"));
  EXPECT_THAT(ErrorOf<SpaceError>([&] { Repeat(RepeatOptions(3, 1, block)); }), HasSubstr("no candidates"));
  EXPECT_THAT(ErrorOf<SpaceError>([&] { Repeat(RepeatOptions({2, 2}, block)); }), HasSubstr("twice"));
}

// ---- Cell ----

CellOptions TwiceOrThrice(int64_t num_nodes) {
  return CellOptions({{"twice", [] { return [](torch::Tensor x) { return 2 * x; }; }},
                      {"thrice", [] { return [](torch::Tensor x) { return 3 * x; }; }}},
                     num_nodes);
}

TEST(CellTest, ConcatenatesAllNodes) {
  // Node 1 reads the predecessor, node 2 reads node 1.
  Construction construction(Options({{"cell_1/input_2_0", 1}, {"cell_1/op_2_0", 1}}));
  Cell cell(TwiceOrThrice(2));
  EXPECT_THAT(Labels(construction),
              ElementsAre("cell_1/input_1_0", "cell_1/op_1_0", "cell_1/input_2_0", "cell_1/op_2_0"));
  EXPECT_THAT(cell->output_nodes(), ElementsAre(1, 2));
  EXPECT_TRUE(cell->forward(Filled(1)).equal(torch::cat({Filled(2), Filled(6)}, 1)));
}

TEST(CellTest, LooseEndsAreTheNodesThatNoOtherReads) {
  Construction construction(Options({{"cell/input_2_0", 1}}));
  Cell cell(TwiceOrThrice(3).merge_op(MergeOp::kLooseEnd).label("cell"));
  EXPECT_THAT(cell->output_nodes(), ElementsAre(2, 3));
  EXPECT_TRUE(cell->forward(Filled(1)).equal(torch::cat({Filled(4), Filled(2)}, 1)));
}

TEST(CellTest, ANodeIsTheSumOfItsOperators) {
  Construction construction(Options({{"cell/input_2_1", 1}, {"cell/op_2_1", 1}}));
  Cell cell(TwiceOrThrice(1).num_predecessors(2).num_ops_per_node(2).label("cell"));
  // 2 * first + 3 * second.
  EXPECT_TRUE(cell->forward({Filled(1), Filled(10)}).equal(Filled(32)));
  EXPECT_THAT(ErrorOf<c10::Error>([&] { cell->forward(Filled(1)); }), HasSubstr("2 predecessors but was given 1"));
}

TEST(CellTest, FactoriesLearnWhereTheOperatorStands) {
  Construction construction(Options({{"cell/input_3_0", 2}}));
  std::vector<std::vector<int64_t>> positions;
  Cell cell(CellOptions({[&](const CellPosition& position) {
                          positions.push_back({position.node, position.op, position.input});
                          return torch::nn::Identity();
                        }},
                        2)
                .num_predecessors(2)
                .label("cell"));
  EXPECT_THAT(positions, ElementsAre(ElementsAre(2, 0, 0), ElementsAre(3, 0, 2)));
}

TEST(CellTest, PreprocessesAndPostprocesses) {
  Cell cell(
      TwiceOrThrice(1)
          .preprocessor([](std::vector<torch::Tensor> inputs) { return std::vector<torch::Tensor>{inputs[0] + 1}; })
          .postprocessor([](torch::Tensor merged, std::vector<torch::Tensor> predecessors) {
            return merged + 100 * predecessors[0];
          }));
  EXPECT_TRUE(cell->forward(Filled(1)).equal(Filled(104)));
}

TEST(CellTest, CellsOfOneLabelShareTheirChoices) {
  Construction construction(Options({{"normal/op_1_0", 1}}));
  Cell first(TwiceOrThrice(1).label("normal"));
  Cell second(TwiceOrThrice(1).label("normal"));
  EXPECT_EQ(construction.asked().size(), 2u);
  EXPECT_TRUE(second->forward(first->forward(Filled(1))).equal(Filled(9)));
}

TEST(CellTest, RefusesACellWithoutNodes) {
  EXPECT_THAT(ErrorOf<SpaceError>([] { Cell(TwiceOrThrice(0)); }), HasSubstr("num_nodes 0"));
}

// ---- ModelSpace and fixed architectures ----

class Net : public ModelSpace {
 public:
  explicit Net(const Params& params) : Net(params.Get<int64_t>("classes", 2)) {}
  explicit Net(int64_t classes = 2) {
    const int64_t width = ValueChoice({4, 8}, "width");
    body_ =
        register_module("body", LayerChoice(LayerChoiceOptions({{"linear", [=] { return torch::nn::Linear(3, width); }},
                                                                {"biased",
                                                                 [=] {
                                                                   ValueChoice({0.1, 0.2}, "rate");
                                                                   return torch::nn::Linear(3, width);
                                                                 }}})
                                                .label("body")));
    output_ = register_module("output", torch::nn::Linear(width, classes));
  }
  torch::Tensor forward(torch::Tensor x) override { return output_(body_(x)); }

 private:
  LayerChoice body_{nullptr};
  torch::nn::Linear output_{nullptr};
};
LANISTA_REGISTER(model_space, "test_net", nn::MakeModelSpace<Net>);

TEST(ModelSpaceDeathTest, TwoOfOneNameSayWhatToDo) {
  EXPECT_DEATH(ModelSpaceRegistry::Get().Add("test_net", MakeModelSpace<Net>),
               "the model space 'test_net' is registered twice: give one of the two another name");
}

TEST(BuildFixedTest, BuildsTheModelThatTheJsonDescribes) {
  const auto net = BuildFixed<Net>(R"({"width": 8, "body": "biased", "rate": 0.2})", 5);
  EXPECT_EQ(net->named_parameters()["output.weight"].sizes(), (std::vector<int64_t>{5, 8}));
  EXPECT_TRUE(net->named_parameters().contains("body.biased.weight"));
}

TEST(BuildFixedTest, WeightsAreSavedAndLoadedAsLibTorchsModules) {
  const std::string json = R"({"width": 4, "body": "linear"})";
  const auto trained = BuildFixed<Net>(json);
  auto loaded = BuildFixed<Net>(json);
  std::stringstream file;
  torch::save(trained, file);
  torch::load(loaded, file);
  const torch::Tensor input = torch::rand({2, 3});
  EXPECT_TRUE(trained->forward(input).equal(loaded->forward(input)));
}

TEST(BuildFixedTest, KnowsRegisteredSpaces) {
  const auto net = BuildFixed("test_net", R"({"width": 4, "body": "linear"})", Params().Set("classes", 7));
  EXPECT_EQ(net->forward(torch::ones({1, 3})).size(1), 7);
  EXPECT_THAT(ErrorOf<SpaceError>([] { BuildFixed("no_such_net", "{}"); }),
              testing::AllOf(HasSubstr("'no_such_net'"), HasSubstr("test_net")));
}

TEST(BuildFixedTest, TakesWhatExportWrites) {
  const std::string exported = R"({"experiment": "e-1", "seed": 42, "rank": 1, "model": 3, "metrics": {"default": 0.9},
    "space": {"registered": "test_net", "params": {"classes": {"i": "7"}}},
    "sample": {"width": 8, "body": "biased", "rate": 0.2}, "data": null})";
  EXPECT_TRUE(BuildFixed<Net>(exported)->named_parameters().contains("body.biased.weight"));
  // The registered space gets the experiment's parameters.
  EXPECT_EQ(BuildFixed("test_net", exported)->forward(torch::ones({1, 3})).size(1), 7);
  EXPECT_THAT(ErrorOf<SpaceError>([&] { BuildFixed("mlp", exported); }),
              HasSubstr("the exported JSON is of the space 'test_net', not 'mlp'"));
}

TEST(BuildFixedTest, SpacesThatFollowTheDataGetItsSizes) {
  const auto mlp = BuildFixed("mlp", R"({"space": {"registered": "mlp"}, "sample": {"activation": "relu", "depth": 1,
    "width0": 32}, "data": {"input_shape": [1, 4, 4], "model_input_shape": [1, 2, 2], "outputs": 3}})");
  EXPECT_EQ(mlp->forward(torch::ones({5, 1, 2, 2})).sizes(), (std::vector<int64_t>{5, 3}));
}

TEST(LoadWeightsTest, GivesAModelWhatATrialKept) {
  const std::string path = testing::TempDir() + "/load_weights.pt";
  const std::string json = R"({"width": 4, "body": "linear"})";
  const auto trained = BuildFixed<Net>(json), loaded = BuildFixed<Net>(json);
  ASSERT_TRUE(WriteStateDict(path, StateDictOf(*trained)).ok());
  LoadWeights(*loaded, path);
  const torch::Tensor input = torch::rand({2, 3});
  EXPECT_TRUE(trained->forward(input).equal(loaded->forward(input)));
}

TEST(LoadWeightsTest, NamesAllThatDoesNotFitAndChangesNothing) {
  const std::string path = testing::TempDir() + "/load_weights.pt";
  ASSERT_TRUE(
      WriteStateDict(path, StateDictOf(*BuildFixed<Net>(R"({"width": 8, "body": "biased", "rate": 0.2})"))).ok());
  const auto net = BuildFixed<Net>(R"({"width": 4, "body": "linear"})");
  const torch::Tensor before = net->named_parameters()["output.bias"].clone();
  EXPECT_EQ(ErrorOf<std::runtime_error>([&] { LoadWeights(*net, path); }),
            path +
                " does not fit the model; the file lacks 'body.linear.bias', 'body.linear.weight'; the model lacks "
                "'body.biased.weight', 'body.biased.bias'; of another shape: 'output.weight' ([2, 8] in the file, [2, "
                "4] in the model)");
  EXPECT_TRUE(net->named_parameters()["output.bias"].equal(before));
  EXPECT_THAT(ErrorOf<std::runtime_error>([&] { LoadWeights(*net, "/nowhere/weights.pt"); }),
              HasSubstr("/nowhere/weights.pt"));
}

TEST(BuildFixedTest, NamesWhereTheJsonDoesNotFit) {
  const auto error = [](const std::string& json) { return ErrorOf<SpaceError>([&] { BuildFixed<Net>(json); }); };
  EXPECT_THAT(error("[1"), HasSubstr("JSON object"));
  EXPECT_THAT(error(R"({"width": 4})"), HasSubstr("body"));
  EXPECT_THAT(error(R"({"width": 5, "body": "linear"})"), HasSubstr("width"));
  EXPECT_THAT(error(R"({"width": 4, "body": "linear", "rate": 0.1})"), HasSubstr("rate"));
}

TEST(ModelSpaceTest, IsItsFirstModelInAPlainProgram) {
  Net net;
  EXPECT_TRUE(net.named_parameters().contains("body.linear.weight"));
}

TEST(ModelSpaceTest, ChoicesDrawNothingFromTheDefaultGenerator) {
  torch::manual_seed(7);
  Net by_hand;
  torch::manual_seed(7);
  const auto fixed = BuildFixed<Net>(R"({"width": 4, "body": "linear"})");
  for (const auto& parameter : by_hand.named_parameters()) {
    EXPECT_TRUE(parameter.value().equal(fixed->named_parameters()[parameter.key()])) << parameter.key();
  }
}

}  // namespace
}  // namespace lanista::nn
