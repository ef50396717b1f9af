#include "src/frontends/torchscript.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/graph/graph.h"
#include "src/graph/mutator.h"
#include "src/ops/registry.h"
#include "src/runtime/graph_module_torch.h"
#include "tests/frontends/imported_model.h"

namespace lanista {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Shapes = std::vector<std::vector<int64_t>>;

class TorchScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    if (ModelFolder().empty()) GTEST_SKIP() << "no Python with torch";
  }

  // The model, which must import and compute what its file computes.
  static v1::ModelGraph Imported(const std::string& name, const Shapes& shapes) {
    auto model = Import(name);
    EXPECT_TRUE(model.ok()) << model.status();
    if (!model.ok()) return {};
    EXPECT_EQ(CompareWithFile(*model, shapes), "");
    return *model;
  }

  static std::string Warnings(const v1::ModelGraph& model) { return absl::StrJoin(model.warnings(), "\n"); }
};

TEST_F(TorchScriptTest, ModulesBecomeOperatorsAndFunctionsNodes) {
  const v1::ModelGraph model = Imported("net", {{2, 1, 12, 12}});
  EXPECT_EQ(Print(model),
            "conv1 = Conv2d(x) in_channels=1 kernel_size=3 out_channels=4\n"
            "relu = aten::relu(conv1)\n"
            "conv2 = Conv2d(relu) bias=false in_channels=4 kernel_size=3 out_channels=8 padding='valid' stride=2\n"
            "max_pool2d = aten::max_pool2d(conv2) kernel_size=[2, 2]\n"
            "dropout1 = Dropout(max_pool2d) p=0.25\n"
            "flatten = aten::flatten.using_ints(dropout1) start_dim=1\n"
            "fc1 = Linear(flatten) in_features=32 out_features=16\n"
            "relu_2 = aten::relu(fc1)\n"
            "training = Training()\n"
            "dropout = aten::dropout(relu_2 as input, training as train) p=0.5\n"
            "fc2 = Linear(dropout) in_features=16 out_features=10\n"
            "log_softmax = aten::log_softmax.int(fc2) dim=1\n"
            "-> log_softmax\n");
  EXPECT_EQ(model.name(), "Net");
  EXPECT_EQ(Warnings(model), "");
  ASSERT_EQ(model.archives_size(), 1);
  EXPECT_EQ(model.archives(0).sha256().size(), 64u);
}

TEST_F(TorchScriptTest, NestedModulesBecomeCellsThatKnowTheirWeights) {
  const v1::ModelGraph model = Imported("nested", {{2, 2, 4, 4}});
  EXPECT_EQ(Print(model),
            "layer1 = cell Sequential(x)\n"
            "blocks.0 = Linear(layer1) in_features=4 out_features=4\n"
            "blocks.1 = Linear(blocks.0) in_features=4 out_features=4\n"
            "-> blocks.1\n");
  EXPECT_EQ(Print(model, "Sequential"), "0 = cell Block(input)\n1 = cell Block_2(0)\n-> 1\n");
  EXPECT_EQ(Print(model, "Block_2"),
            "conv = Conv2d(x) in_channels=2 kernel_size=3 out_channels=2 padding=1\n"
            "relu = ReLU(conv)\n"
            "bn = BatchNorm2d(relu) num_features=2\n"
            "add = aten::add_.Tensor(bn, x as other)\n"
            "relu_2[relu] = ReLU(add)\n"
            "-> relu_2\n");
  ASSERT_EQ(model.graphs(1).name(), "Block_2");
  EXPECT_EQ(model.graphs(1).nodes(0).weights().path(), "layer1.1.conv");
}

TEST_F(TorchScriptTest, AttributesOtherThanDefaultsAreKept) {
  const v1::ModelGraph model = Imported("zoo", {{2, 2, 12, 12}});
  EXPECT_EQ(Print(model),
            "0 = Conv2d(input) dilation=[2, 1] groups=2 in_channels=2 kernel_size=[3, 1] out_channels=4 padding=1 "
            "padding_mode='reflect' stride=[1, 2]\n"
            "1 = BatchNorm2d(0) affine=false eps=0.001 momentum=0.2 num_features=4\n"
            "2 = LeakyReLU(1) inplace=true negative_slope=0.2\n"
            "3 = ConvTranspose2d(2) bias=false in_channels=4 kernel_size=2 out_channels=4 output_padding=1 stride=2\n"
            "4 = GroupNorm(3) affine=false num_channels=4 num_groups=2\n"
            "5 = MaxPool2d(4) ceil_mode=true kernel_size=3 padding=1 stride=1\n"
            "6 = AvgPool2d(5) count_include_pad=false kernel_size=2 stride=2\n"
            "7 = AdaptiveAvgPool2d(6) output_size=[2, 3]\n"
            "8 = Flatten(7)\n"
            "9 = Linear(8) bias=false in_features=24 out_features=4\n"
            "10 = LayerNorm(9) elementwise_affine=false normalized_shape=[4]\n"
            "11 = Hardtanh(10) max_val=0.5 min_val=-0.5\n"
            "12 = Softmax(11) dim=1\n"
            "-> 12\n");
}

TEST_F(TorchScriptTest, AModuleOfTorchNnItselfIsOneNode) {
  const v1::ModelGraph model = Imported("linear", {{2, 3}});
  EXPECT_EQ(Print(model), "Linear = Linear(input) in_features=3 out_features=2\n-> Linear\n");
}

TEST_F(TorchScriptTest, ConstantsDecideBranchesAndLoopsAndTheTrainingFlagSwitches) {
  const v1::ModelGraph model = Imported("branches", {{2, 4}});
  EXPECT_EQ(Print(model),
            "dim = aten::dim(x)\n"
            "ne = aten::ne.int(dim as a) b=2\n"
            "not = aten::__not__(ne)\n"
            "assert = Assert(not) message='expected two dimensions'\n"
            "size = aten::size(x)\n"
            "getitem = aten::__getitem__.t(size as list) idx=1\n"
            "eq = aten::eq.int(getitem as a) b=4\n"
            "assert_2 = Assert(eq) message='AssertionError: width {}'\n"
            "size_2 = aten::size(x)\n"
            "getitem_2 = aten::__getitem__.t(size_2 as list) idx=0\n"
            "gt = aten::gt.int(getitem_2 as a) b=0\n"
            "assert_3 = Assert(gt) message='AssertionError: width {}'\n"
            "fc = Linear(x) in_features=4 out_features=4\n"
            "add = aten::add.Scalar(fc) other=1\n"
            "add_2 = aten::add.Scalar(add) other=1\n"
            "add_3 = aten::add.Scalar(add_2) other=1\n"
            "training_switch = switch Branches_training/Branches_evaluation(add_3)\n"
            "-> training_switch\n");
  EXPECT_EQ(Print(model, "Branches_training"),
            "noise = Linear(add_3) in_features=4 out_features=4\n"
            "add = aten::add.Tensor(add_3, noise as other)\n"
            "-> add\n");
  EXPECT_EQ(Print(model, "Branches_evaluation"), "mul = aten::mul.Scalar(add_3) other=2\n-> mul\n");
  // The second input is none by default, and so it was read.
  EXPECT_EQ(model.graphs(2).inputs_size(), 1);
}

TEST_F(TorchScriptTest, AnAssertionOfTheModelStopsIt) {
  const auto model = Import("branches");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(RunError(*model, {{2, 4}}), "");
  EXPECT_TRUE(absl::StrContains(RunError(*model, {{2, 5}}), "width {}"));
  EXPECT_TRUE(absl::StrContains(RunError(*model, {{2, 4, 1}}), "expected two dimensions"));
}

TEST_F(TorchScriptTest, AnOutputOfTrainingOnlyIsNoneInEvaluation) {
  const v1::ModelGraph model = Imported("auxiliary", {{2, 4}});
  EXPECT_EQ(Print(model, "Auxiliary_evaluation"), "constant = prim::Constant() 0=none\n-> constant\n");
  EXPECT_EQ(Print(model),
            "fc = Linear(x) in_features=4 out_features=4\n"
            "training_switch = switch Auxiliary_training/Auxiliary_evaluation(fc)\n"
            "-> fc, training_switch\n");
}

TEST_F(TorchScriptTest, OnlyTheModuleWithTheLoopIsKeptWhole) {
  const v1::ModelGraph model = Imported("keeps_loop", {{2, 4}});
  EXPECT_EQ(Warnings(model), "module 'inner.1' (WhileLoop): has a loop that data decides: kept whole");
  EXPECT_EQ(Print(model, "Sequential"),
            "0 = Linear(input) in_features=4 out_features=4\n1 = opaque:WhileLoop(0)\n-> 1\n");
  EXPECT_EQ(model.graphs(0).nodes(1).opaque().path(), "inner.1");
}

TEST_F(TorchScriptTest, AModelThatIsALoopIsOneNode) {
  const v1::ModelGraph model = Imported("while_loop", {{2, 4}});
  EXPECT_EQ(Print(model), "WhileLoop = opaque:WhileLoop(x)\n-> WhileLoop\n");
}

TEST_F(TorchScriptTest, WhatNodesCannotExpressIsKeptWholeAndSaysWhy) {
  const v1::ModelGraph model = Imported("refuses", {{2, 4}});
  EXPECT_EQ(Warnings(model),
            "module 'branch' (DataBranch): has a branch that data decides: kept whole\n"
            "module 'pair' (Pair): has a loop that data decides: kept whole\n"
            "module 'stateful' (Stateful): keeps state in 'calls': kept whole\n"
            "module 'prints' (Prints): prints: kept whole");
  EXPECT_EQ(Print(model),
            "branch = opaque:DataBranch(x)\n"
            "pair = opaque:Pair(branch)\n"
            "unpack = prim::TupleUnpack(pair as 0)\n"
            "stateful = opaque:Stateful(unpack)\n"
            "add = aten::add.Tensor(stateful, unpack.1 as other)\n"
            "prints = opaque:Prints(add)\n"
            "-> prints\n");
}

TEST_F(TorchScriptTest, WhatTheModelWouldNotComputeIsNotComputed) {
  // x.size(3) would fail.
  const v1::ModelGraph guarded = Imported("guarded_size", {{2, 3, 4}});
  EXPECT_EQ(Warnings(guarded), "the model (GuardedSize): has a branch that data decides: kept whole");
  const v1::ModelGraph strict = Imported("asserts_if_strict", {{2, 4}});
  EXPECT_EQ(Print(strict), "add = aten::add.Scalar(x) other=1\n-> add\n");
}

TEST_F(TorchScriptTest, WhatWouldTakeForeverIsKeptWholeAndSaysWhy) {
  const auto model = Import("costly");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Warnings(*model),
            "module 'a' (RepeatsList): makes a very long list: kept whole\n"
            "module 'c' (RepeatsFromTheLeft): makes a very long list or text: kept whole\n"
            "module 'd' (DoublesList): makes a very long list: kept whole\n"
            "module 'e' (DoublesListInPlace): makes a very long list: kept whole\n"
            "module 'f' (ExtendsList): makes a very long list: kept whole\n"
            "module 'g' (DoublesText): makes a very long text: kept whole\n"
            "module 'h' (PadsText): makes a very long list or text: kept whole\n"
            "module 'i' (DividesByZero): divides by zero: kept whole");
  EXPECT_EQ(Print(*model, "RepeatsNothing"), "add = aten::add.Scalar(x) other=0\n-> add\n");
  EXPECT_EQ(Print(*model, "SlicesFar"), "add = aten::add.Scalar(x) other=1\n-> add\n");
}

TEST_F(TorchScriptTest, AListThatAnotherModuleChangesIsNotTakenForKnown) {
  const v1::ModelGraph model = Imported("changes_list", {{2, 4}});
  EXPECT_EQ(CountTypes(model), "opaque:ChangesList=1");
}

TEST_F(TorchScriptTest, BasicUnitsAreKeptWhole) {
  const auto model = Import("nested", {}, {"Block"});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Print(*model, "Sequential"), "0 = opaque:Block(input)\n1 = opaque:Block(0)\n-> 1\n");
  EXPECT_EQ(CompareWithFile(*model, {{2, 2, 4, 4}}), "");
}

TEST_F(TorchScriptTest, ListsTuplesAndDictionariesAreFollowed) {
  const v1::ModelGraph model = Imported("lists", {{2, 4}});
  EXPECT_EQ(CountTypes(model),
            "Linear=3 aten::__getitem__.t=1 aten::add.Tensor=1 aten::cat=1 aten::chunk=1 aten::mean.dim=1 "
            "aten::mul.Scalar=3 aten::size=1 aten::stack=1 aten::sum.dim_IntList=1 aten::view=1 "
            "prim::ListConstruct=1 prim::ListUnpack=1");
}

TEST_F(TorchScriptTest, TensorsMadeOfListsComputeTheSame) { Imported("literals", {{2, 4}}); }

TEST_F(TorchScriptTest, StatesComeInAndGoOutAsTuples) {
  const auto model = Import("nested_out");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Print(*model),
            "unpack = prim::TupleUnpack(state as 0)\n"
            "lstm = LSTM(x, unpack, unpack.1) batch_first=true hidden_size=3 input_size=4\n"
            "mul = aten::mul.Scalar(lstm) other=2\n"
            "tuple = prim::TupleConstruct(lstm.1 as 0, lstm.2 as 1)\n"
            "-> mul, tuple\n");
}

TEST_F(TorchScriptTest, ADictionaryThatTheModelReturnsBecomesItsOutputs) {
  const v1::ModelGraph model = Imported("dict_out", {{2, 4}});
  EXPECT_EQ(Print(model), "mul = aten::mul.Scalar(x) other=2\nadd = aten::add.Scalar(x) other=1\n-> mul, add\n");
  EXPECT_THAT(Warnings(model), HasSubstr("returns a dictionary"));
}

TEST_F(TorchScriptTest, ParametersAndBuffersAreNodes) {
  const v1::ModelGraph model = Imported("parameters", {{2, 4}});
  EXPECT_EQ(Print(model),
            "token = Parameter() shape=[1, 4]\n"
            "fixed = Parameter() shape=[4] trainable=false\n"
            "mul = aten::mul.Tensor(token, fixed as other)\n"
            "add = aten::add.Tensor(x, mul as other)\n"
            "table = Parameter() buffer=true shape=[4]\n"
            "add_2 = aten::add.Tensor(add, table as other)\n"
            "frozen = Linear(add_2) frozen in_features=4 out_features=4\n"
            "constant = Constant() value=tensor\n"
            "select = aten::select.int(constant) dim=0 index=0\n"
            "add_3 = aten::add.Tensor(frozen, select as other)\n"
            "-> add_3\n");
  EXPECT_EQ(model.graphs(0).nodes(0).weights().path(), "token");
}

TEST_F(TorchScriptTest, AWeightThatIsAlsoReadByItselfKeepsItsModuleWhole) {
  const v1::ModelGraph model = Imported("methods", {{2, 4}});
  EXPECT_EQ(CountTypes(model), "opaque:Methods=1");
}

TEST_F(TorchScriptTest, MethodsOtherThanForwardAreCellsOfTheirModule) {
  const v1::ModelGraph model = Imported("two_methods", {{2, 4}});
  EXPECT_EQ(Print(model),
            "encoder = cell Scaler(x)\n"
            "encoder_unscale[encoder] = cell Scaler_2(encoder)\n"
            "-> encoder_unscale\n");
}

TEST_F(TorchScriptTest, HooksOfSubmodulesComputeTheSame) { Imported("holds_hooked", {{2, 4}}); }

TEST_F(TorchScriptTest, ModulesThatShareParametersAreKeptTogether) {
  const v1::ModelGraph model = Imported("tied", {{2, 4}});
  EXPECT_EQ(Print(model), "tied = opaque:Tied(x)\nfc = Linear(tied) in_features=4 out_features=4\n-> fc\n");
  EXPECT_EQ(Warnings(model), "module 'tied' (Tied): uses a parameter in two places: kept whole");
}

TEST_F(TorchScriptTest, RecurrentNetworksComputeTheSame) { Imported("recurrent", {{2, 5, 4}}); }

TEST_F(TorchScriptTest, ResizingByAFactorComputesTheSame) {
  const v1::ModelGraph model = Imported("resizes", {{2, 3, 15, 17}});
  EXPECT_EQ(CountTypes(model),
            "aten::__interpolate=1 aten::__interpolate.scale_list=1 aten::__interpolate.size_list=1 opaque:Sharpens=1");
}

TEST_F(TorchScriptTest, TypesAreInferredFromInputShapes) {
  const auto model = Import("net", {{-1, 1, 12, 12}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Warnings(*model), "");
  const v1::Graph& root = model->graphs(0);
  ASSERT_EQ(root.nodes(2).outputs_size(), 1);
  const auto& dims = root.nodes(2).outputs(0).shape().dims();
  EXPECT_EQ(std::vector<int64_t>(dims.begin(), dims.end()), (std::vector<int64_t>{-1, 8, 4, 4}));
}

TEST_F(TorchScriptTest, AnInputShapeThatDoesNotFitIsAWarning) {
  const auto model = Import("net", {{-1, 3, 12, 12}});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(absl::StrContains(Warnings(*model), "conv1")) << Warnings(*model);
}

TEST_F(TorchScriptTest, MoreInputShapesThanInputsAreRefused) {
  const auto model = Import("net", {{1}, {1}});
  EXPECT_TRUE(absl::StrContains(model.status().message(), "forward takes 1 inputs")) << model.status();
}

TEST_F(TorchScriptTest, PrimitivesOfThePythonModuleAreChoices) {
  const auto model = Import("space");
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Print(*model),
            "fc1 = Linear(x) in_features=4 out_features=choice(feature)\n"
            "fc2 = Linear(fc1) in_features=choice(feature) out_features=4\n"
            "layer = choice(fc2)\n"
            "input = choice(layer, fc2)\n"
            "repeat = choice(input)\n"
            "-> repeat\n");
  ASSERT_EQ(model->value_choices_size(), 1);
  EXPECT_EQ(model->value_choices(0).candidates_size(), 2);
  const v1::Graph& root = model->graphs(1);
  EXPECT_EQ(root.nodes(2).layer_choice().label(), "layer");
  ASSERT_EQ(root.nodes(2).layer_choice().candidates_size(), 2);
  EXPECT_EQ(root.nodes(2).layer_choice().candidates(0).name(), "linear");
  EXPECT_EQ(root.nodes(2).layer_choice().candidates(1).cell().graph(), "Sequential");
  EXPECT_EQ(root.nodes(3).input_choice().n_chosen(), 1);
  ASSERT_EQ(root.nodes(4).repeat().depths_size(), 3);
  EXPECT_EQ(root.nodes(4).repeat().blocks(2).weights().path(), "repeat.blocks.2");
}

TEST_F(TorchScriptTest, AutomaticLabelsDoNotDependOnWhatElseTheProcessMade) {
  for (const char* name : {"automatic", "automatic_again"}) {
    const auto model = Import(name);
    ASSERT_TRUE(model.ok()) << model.status();
    const v1::Graph& root = graph::RootGraph(*model);
    EXPECT_EQ(model->value_choices(0).label() + " " + model->value_choices(1).label(), "value_1 value_2");
    const v1::Expression& out_features = root.nodes(0).op().attr(1).value().expression();
    EXPECT_EQ(out_features.operation().operands(0).choice(), "value_1");
    EXPECT_EQ(root.nodes(1).op().type(), "LSTM");
    const v1::Graph& layers = *graph::FindGraph(*model, "Sequential");
    EXPECT_EQ(layers.nodes(0).layer_choice().label(), "layer_1") << "the user's own";
    EXPECT_EQ(layers.nodes(1).layer_choice().label(), "layer_2");
  }
}

TEST_F(TorchScriptTest, AChoiceThatWouldBeLostIsAnError) {
  const auto error = [](const std::string& name, const std::vector<std::string>& basic_units = {}) {
    return std::string(Import(name, {}, basic_units).status().message());
  };
  EXPECT_THAT(error("lost_unused"), HasSubstr("choice 'l' at 'unused' would be lost: forward never calls"));
  EXPECT_THAT(error("lost_loop"),
              HasSubstr("module '0' (Loop) has a loop that data decides: it can only be kept whole, "
                        "and choice 'p' at '0.drop' would be lost"));
  EXPECT_THAT(error("lost_shared"),
              AllOf(HasSubstr("one parameter as 'a.candidates.0."), HasSubstr("choice 'a' at 'a'")));
  EXPECT_THAT(error("lost_clash"),
              AllOf(HasSubstr("'p' stands for two choices: of [0.1, 0.2] (make_models.py:"), HasSubstr(", at 'a')"),
                    HasSubstr("of [0.1, 0.3] (make_models.py:"), HasSubstr(", at 'b')")));
  EXPECT_THAT(error("lost_names"), HasSubstr("module '0' (LayerChoice): its choice cannot be read: 'lanista_names'"));
  EXPECT_THAT(error("lost_label"), HasSubstr("'lanista_label' is no string"));
  EXPECT_THAT(error("linked", {"Linked"}), HasSubstr("the model (Linked) is a basic unit"));
}

TEST_F(TorchScriptTest, ThePythonModuleRefusesWhatItCannotMark) {
  EXPECT_EQ(std::system("/usr/bin/python3 tests/frontends/python_door.py clients/python"), 0);
}

TEST_F(TorchScriptTest, BasicUnitsAreLinkedToTheirChoicesAndCellsAreCells) {
  const auto model = Import("linked");
  ASSERT_TRUE(model.ok()) << model.status();
  const v1::Graph& root = graph::RootGraph(*model);
  const v1::LayerChoiceNode& unit = root.nodes(1).layer_choice();
  EXPECT_EQ(absl::StrJoin(unit.decided_by(), " "), "width depth");
  ASSERT_EQ(unit.candidates_size(), 6);
  const v1::NasCellNode& cell = root.nodes(3).nas_cell();
  EXPECT_EQ(cell.label(), "cell");
  EXPECT_EQ(cell.num_nodes(), 2);
  EXPECT_EQ(cell.num_ops_per_node(), 2);
  EXPECT_EQ(cell.num_predecessors(), 2);
  ASSERT_EQ(cell.op_candidates_size(), 2);
  EXPECT_EQ(cell.op_candidates(1).name(), "relu");

  const auto space = graph::GraphSpace::Create(*model, {}, ops::FindOp, nullptr);
  ASSERT_TRUE(space.ok()) << space.status();
  // The last option of each choice.
  graph::Chooser chooser([](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    v1::Decision decision;
    decision.set_label(choice.label());
    decision.add_index(choice.candidates_size() - 1);
    *decision.add_value() = choice.candidates(choice.candidates_size() - 1);
    return decision;
  });
  const auto chosen = space->Materialise(chooser);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  torch::manual_seed(1);
  const auto module = runtime::GraphModule::Create(*chosen, {});
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->named_parameters()["unit.fc1.weight"].sizes(), torch::IntArrayRef({12, 8}));
  EXPECT_EQ((*module)->forward(torch::ones({2, 3})).sizes(), torch::IntArrayRef({2, 8}));
}

}  // namespace
}  // namespace lanista
