#include "src/graph/mutator.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "src/graph/expression.h"
#include "src/graph/graph.h"
#include "src/ops/registry.h"
#include "tests/graph/graph_testing.h"

namespace lanista::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ModuleReader kNoModules = [](const std::string& path) -> absl::StatusOr<v1::ModelGraph> {
  return absl::NotFoundError("no file " + path);
};

// A chooser that takes the option with this index for these labels, and the first one for others.
Chooser Follow(std::map<std::string, int> options) {
  return Chooser([options = std::move(options)](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    const auto found = options.find(choice.label());
    v1::Decision decision;
    decision.set_label(choice.label());
    for (int i = 0; i < choice.n_chosen(); ++i) {
      const int index = (found == options.end() ? 0 : found->second) + i;
      decision.add_index(index);
      *decision.add_value() = choice.candidates(index);
    }
    return decision;
  });
}

std::vector<std::string> Labels(const Chooser& chooser) {
  std::vector<std::string> labels;
  for (const Chooser::Asked& asked : chooser.asked()) labels.push_back(asked.choice.label());
  return labels;
}

const v1::Node* Find(const v1::ModelGraph& model, const std::string& wanted) {
  const v1::Node* found = nullptr;
  VisitNodes(model, [&](const std::string& path, const v1::Node& node) {
    if (path == wanted) found = &node;
  });
  return found;
}

class GraphSpaceTest : public ::testing::Test {
 protected:
  GraphSpace Space(const std::string& config) {
    auto space = GraphSpace::Create(SmallNet(), Parse<v1::SpaceConfig>(config), ops::FindOp, kNoModules);
    EXPECT_TRUE(space.ok()) << space.status();
    return *std::move(space);
  }

  static std::string CreateError(const std::string& config) {
    const auto space = GraphSpace::Create(SmallNet(), Parse<v1::SpaceConfig>(config), ops::FindOp, kNoModules);
    EXPECT_FALSE(space.ok());
    return std::string(space.status().message());
  }

  // "path type" of all nodes.
  static std::vector<std::string> Nodes(const v1::ModelGraph& model) {
    std::vector<std::string> nodes;
    VisitNodes(model, [&nodes](const std::string& path, const v1::Node& node) {
      nodes.push_back(path + " " + (node.has_op() ? node.op().type() : "cell"));
    });
    return nodes;
  }

  static int64_t IntAttribute(const v1::ModelGraph& model, const std::string& path, const std::string& key) {
    const v1::Node* const node = Find(model, path);
    return Attributes(*ops::FindOp(node->op().type()), node->op()).Int(key);
  }
};

constexpr char kFeature[] = R"(
  mutator {
    value_choice { target: "head.fc1" attr: "out_features" label: "feature" candidate: [ { i: 16 }, { i: 64 } ] }
    also { target: "head.fc2" attr: "in_features" }
  })";

TEST_F(GraphSpaceTest, AValueChoiceSetsAnAttributeAndWhatFollows) {
  const GraphSpace space = Space(kFeature);
  Chooser chooser = Follow({{"feature", 1}});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(IntAttribute(*model, "head.fc1", "out_features"), 64);
  EXPECT_EQ(IntAttribute(*model, "head.fc2", "in_features"), 64);
  EXPECT_THAT(Labels(chooser), ElementsAre("feature"));
  EXPECT_EQ(TypeToText(Find(*model, "head.fc1")->outputs(0)), "float32[-1, 64]");
}

TEST_F(GraphSpaceTest, AWidthThatNobodyFollowsNamesTheLayerAndBothShapes) {
  const GraphSpace space = Space(R"(mutator {
    value_choice { target: "head.fc1" attr: "out_features" candidate: [ { i: 16 }, { i: 64 } ] } })");
  Chooser chooser = Follow({{"head.fc1.out_features", 1}});
  EXPECT_EQ(space.Materialise(chooser).status().message(),
            "node 'head.fc2' (Linear): expects 16 input features (in_features), gets 64 in float32[-1, 64]");
}

TEST_F(GraphSpaceTest, AWidthThatPropagatesIsFollowed) {
  // Through an activation, into a convolution; through activation, dropout and flatten into a cell's linear layer.
  const GraphSpace space = Space(R"(
    mutator { value_choice { target: "conv1" attr: "out_channels" label: "w1" candidate: [ { i: 4 }, { i: 6 } ] propagate: true } }
    mutator { value_choice { target: "conv2" attr: "out_channels" label: "w2" candidate: [ { i: 4 }, { i: 2 } ] propagate: true } }
    mutator { value_choice { target: "head.fc1" attr: "out_features" label: "w3" candidate: [ { i: 16 }, { i: 5 } ] propagate: true } })");
  Chooser chooser = Follow({{"w1", 1}, {"w2", 1}, {"w3", 1}});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(IntAttribute(*model, "conv2", "in_channels"), 6);
  EXPECT_EQ(IntAttribute(*model, "head.fc1", "in_features"), 72);
  EXPECT_EQ(IntAttribute(*model, "head.fc2", "in_features"), 5);
  EXPECT_EQ(TypeToText(Find(*model, "head")->outputs(0)), "float32[-1, 10]");
  Chooser unchanged = Follow({});
  const auto same = space.Materialise(unchanged);
  ASSERT_TRUE(same.ok()) << same.status();
  EXPECT_EQ(IntAttribute(*same, "head.fc1", "in_features"), 144);
}

// The documents' Net, flattened as people often write it: out.view(out.size(0), -1), or out.view(-1, 144).
v1::ModelGraph NetWithView(const std::string& sizes) {
  v1::ModelGraph base = SmallNet();
  v1::Graph* const root = base.mutable_graphs(0);
  for (v1::Node& node : *root->mutable_nodes()) {
    for (v1::Edge& edge : *node.mutable_inputs()) {
      if (edge.node() == "flatten") edge.set_node("view");
    }
    if (node.name() != "flatten") continue;
    const std::string source = node.inputs(0).node();
    node = Parse<v1::Node>(R"pb(name: "view"
                                inputs { arg: "self" }
                                inputs { node: "sizes" arg: "size" }
                                op { type: "aten::view" })pb");
    node.mutable_inputs(0)->set_node(source);
  }
  *root->add_nodes() = Parse<v1::Node>(R"pb(
    name: "batch"
    inputs { node: "conv1" arg: "self" }
    op {
      type: "aten::size.int"
      attr {
        key: "dim"
        value { i: 0 }
      }
    })pb");
  *root->add_nodes() = Parse<v1::Node>(sizes);
  return base;
}

// Sizes for it: [-1, length].
std::string RowsOf(int length) {
  return absl::StrCat(R"(name: "sizes" op { type: "prim::ListConstruct" attr { key: "0" value { i: -1 } }
                         attr { key: "1" value { i: )",
                      length, " } } }");
}

TEST_F(GraphSpaceTest, AWidthIsFollowedThroughAView) {
  const auto config = Parse<v1::SpaceConfig>(R"(mutator {
    value_choice { target: "conv2" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 2 }, { i: 8 } ] propagate: true } })");
  const auto space = GraphSpace::Create(NetWithView(R"pb(
                                          name: "sizes"
                                          inputs { node: "batch" arg: "0" }
                                          op {
                                            type: "prim::ListConstruct"
                                            attr {
                                              key: "1"
                                              value { i: -1 }
                                            }
                                          })pb"),
                                        config, ops::FindOp, kNoModules);
  ASSERT_TRUE(space.ok()) << space.status();
  Chooser chooser = Follow({{"w", 1}});
  const auto model = space->Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(IntAttribute(*model, "head.fc1", "in_features"), 72);
  EXPECT_EQ(TypeToText(Find(*model, "head")->outputs(0)), "float32[-1, 10]");

  // Rows of a fixed length would become two rows a sample.
  const auto fixed = GraphSpace::Create(NetWithView(RowsOf(144)), config, ops::FindOp, kNoModules);
  ASSERT_TRUE(fixed.ok()) << fixed.status();
  Chooser wider = Follow({{"w", 2}});
  EXPECT_THAT(std::string(fixed->Materialise(wider).status().message()),
              HasSubstr("node 'view' (aten::view): cannot follow a changed width: rows of 144 elements no longer fit "
                        "float32[-1, 8, 6, 6]"));
  Chooser same = Follow({});
  EXPECT_TRUE(fixed->Materialise(same).ok());
}

TEST_F(GraphSpaceTest, AListThatIsChangedIsNoShapeThatAViewCouldNotHave) {
  // [-1, 7] becomes [-1, 144] before the view reads it.
  v1::ModelGraph base = NetWithView(RowsOf(7));
  auto* const nodes = base.mutable_graphs(0)->mutable_nodes();
  *nodes->Add() = Parse<v1::Node>(R"pb(
    name: "change"
    inputs { node: "sizes" arg: "l" }
    op {
      type: "aten::_set_item.t"
      attr {
        key: "idx"
        value { i: 1 }
      }
      attr {
        key: "el"
        value { i: 144 }
      }
    })pb");
  std::rotate(nodes->begin(), nodes->end() - 2, nodes->end());
  const auto space = GraphSpace::Create(base, Parse<v1::SpaceConfig>(R"(mutator {
    value_choice { target: "conv2" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 2 } ] propagate: true } })"),
                                        ops::FindOp, kNoModules);
  ASSERT_TRUE(space.ok()) << space.status();
  // No row of 7 is missed; but what the view makes of another width is not known.
  Chooser chooser = Follow({{"w", 1}});
  EXPECT_THAT(std::string(space->Materialise(chooser).status().message()),
              HasSubstr("node 'head.fc1' (Linear): in_features cannot follow a changed width"));
}

TEST_F(GraphSpaceTest, ADepthwiseConvolutionStaysOneWhenItsWidthIsPropagated) {
  v1::ModelGraph base = SmallNet();
  // conv2 becomes depthwise with two outputs a channel, and a batch norm follows.
  v1::Node* const conv2 = base.mutable_graphs(0)->mutable_nodes(2);
  conv2->mutable_op()->mutable_attr(2)->mutable_value()->set_i(8);
  v1::Attribute* const groups = conv2->mutable_op()->add_attr();
  groups->set_key("groups");
  groups->mutable_value()->set_i(4);
  *base.mutable_graphs(0)->mutable_nodes(4) = Parse<v1::Node>(R"pb(
    name: "dropout"
    inputs { node: "relu_2" }
    op {
      type: "BatchNorm2d"
      attr {
        key: "num_features"
        value { i: 8 }
      }
    })pb");
  base.mutable_graphs(1)->mutable_nodes(0)->mutable_op()->mutable_attr(0)->mutable_value()->set_i(288);
  const auto space = GraphSpace::Create(base, Parse<v1::SpaceConfig>(R"(mutator {
    value_choice { target: "conv1" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 3 } ] propagate: true } })"),
                                        ops::FindOp, kNoModules);
  ASSERT_TRUE(space.ok()) << space.status();
  Chooser chooser = Follow({{"w", 1}});
  const auto model = space->Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(IntAttribute(*model, "conv2", "groups"), 3);
  EXPECT_EQ(IntAttribute(*model, "conv2", "out_channels"), 6);
  EXPECT_EQ(IntAttribute(*model, "dropout", "num_features"), 6);
  EXPECT_EQ(IntAttribute(*model, "head.fc1", "in_features"), 216);

  // What another choice says of a node counts once its width is propagated: 3 groups of 6 channels, not of 8.
  base.mutable_graphs(0)->mutable_nodes(4)->mutable_op()->set_type("GroupNorm");
  base.mutable_graphs(0)->mutable_nodes(4)->mutable_op()->mutable_attr(0)->set_key("num_channels");
  v1::Attribute* const num_groups = base.mutable_graphs(0)->mutable_nodes(4)->mutable_op()->add_attr();
  num_groups->set_key("num_groups");
  num_groups->mutable_value()->set_i(1);
  const auto fitting = GraphSpace::Create(base, Parse<v1::SpaceConfig>(R"(
    mutator { value_choice { target: "dropout" attr: "num_groups" label: "n" candidate: [ { i: 1 }, { i: 3 } ] } }
    mutator { value_choice { target: "conv1" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 3 } ]
              propagate: true } })"),
                                          ops::FindOp, kNoModules);
  ASSERT_TRUE(fitting.ok()) << fitting.status();
  Chooser three = Follow({{"n", 1}, {"w", 1}});
  EXPECT_TRUE(fitting->Materialise(three).ok()) << fitting->Materialise(three).status();

  // Another choice has made what is propagated senseless.
  const auto senseless = GraphSpace::Create(base, Parse<v1::SpaceConfig>(R"(
    mutator { value_choice { target: "conv2" attr: "groups" label: "g" candidate: [ { i: 4 }, { i: 0 } ] }
              also { target: "conv2" attr: "in_channels" } }
    mutator { value_choice { target: "conv1" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 3 } ]
              propagate: true } })"),
                                            ops::FindOp, kNoModules);
  ASSERT_TRUE(senseless.ok()) << senseless.status();
  Chooser both = Follow({{"g", 1}, {"w", 1}});
  EXPECT_THAT(std::string(senseless->Materialise(both).status().message()), HasSubstr("node 'conv2'"));
}

TEST_F(GraphSpaceTest, AWidthThatCannotBeFollowedNamesTheNode) {
  v1::ModelGraph base = SmallNet();
  base.mutable_graphs(0)->mutable_inputs(0)->clear_type();
  const auto space = GraphSpace::Create(base, Parse<v1::SpaceConfig>(R"(mutator {
    value_choice { target: "conv2" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 3 } ] propagate: true } })"),
                                        ops::FindOp, kNoModules);
  ASSERT_TRUE(space.ok()) << space.status();
  Chooser chooser = Follow({{"w", 1}});
  EXPECT_THAT(std::string(space->Materialise(chooser).status().message()),
              HasSubstr("node 'head.fc1' (Linear): in_features cannot follow a changed width"));
  // A sum whose other side keeps its width.
  base = SmallNet();
  *base.mutable_graphs(0)->mutable_nodes(4) = Parse<v1::Node>(R"pb(
    name: "dropout"
    inputs { node: "conv2" arg: "self" }
    inputs { node: "relu" arg: "other" }
    op { type: "aten::add.Tensor" })pb");
  base.mutable_graphs(0)->mutable_nodes(2)->mutable_op()->mutable_attr(0)->mutable_value()->set_i(4);
  const auto sum = GraphSpace::Create(base, Parse<v1::SpaceConfig>(R"(mutator {
    value_choice { target: "conv2" attr: "out_channels" label: "w" candidate: [ { i: 4 }, { i: 3 } ] propagate: true } })"),
                                      ops::FindOp, kNoModules);
  ASSERT_TRUE(sum.ok()) << sum.status();
  Chooser other = Follow({{"w", 1}});
  EXPECT_THAT(std::string(sum->Materialise(other).status().message()),
              HasSubstr("node 'dropout' (aten::add.Tensor): "));
}

TEST_F(GraphSpaceTest, ExpressionsStayLinkedToTheirLabel) {
  const GraphSpace space = Space(R"(mutator {
    value_choice { target: "head.fc1" attr: "out_features" label: "f" candidate: [ { i: 16 }, { i: 64 } ] }
    also {
      target: "head.fc2"
      attr: "in_features"
      expression { operation { kind: FLOOR_DIVIDE operands { operation { kind: MULTIPLY operands { choice: "f" } operands { literal { i: 4 } } } }
                               operands { literal { i: 4 } } } }
    } })");
  Chooser chooser = Follow({{"f", 1}});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(IntAttribute(*model, "head.fc2", "in_features"), 64);
}

TEST_F(GraphSpaceTest, ALayerChoicePutsTheCandidateInPlace) {
  const GraphSpace space = Space(R"(mutator {
    layer_choice {
      target: "conv2"
      candidate { keep {} }
      candidate { name: "none" op { type: "Identity" } }
      candidate { node: "dropout" }
    } })");
  Chooser keep = Follow({}), none = Follow({{"conv2", 1}});
  EXPECT_EQ(Find(*space.Materialise(keep), "conv2")->op().type(), "Conv2d");
  const auto model = space.Materialise(none);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Find(*model, "conv2")->op().type(), "Identity");
  EXPECT_EQ(Find(*model, "conv2")->inputs(0).node(), "relu");
  EXPECT_EQ(none.asked()[0].choice.candidates(1).s(), "none");
  EXPECT_EQ(none.asked()[0].choice.candidates(2).s(), "dropout");
}

TEST_F(GraphSpaceTest, AModuleThatIsCalledTwiceChangesOnce) {
  const GraphSpace space = Space(R"(mutator {
    layer_choice { target: "relu" candidate { keep {} } candidate { op { type: "Tanh" } } } })");
  Chooser chooser = Follow({{"relu", 1}});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Labels(chooser), ElementsAre("relu"));
  EXPECT_EQ(model->graphs(0).nodes(1).op().type(), "Tanh");
  EXPECT_EQ(model->graphs(0).nodes(3).op().type(), "Tanh");
}

TEST_F(GraphSpaceTest, OnlyWhatIsActiveIsAsked) {
  const GraphSpace space = Space(R"(
    mutator { value_choice { target: "conv2" attr: "bias" candidate: [ { b: true }, { b: false } ] } }
    mutator { layer_choice { target: "conv2" candidate { keep {} } candidate { op { type: "Identity" } } } })");
  Chooser keep = Follow({}), none = Follow({{"conv2", 1}});
  ASSERT_TRUE(space.Materialise(keep).ok());
  ASSERT_TRUE(space.Materialise(none).ok());
  EXPECT_THAT(Labels(keep), ElementsAre("conv2", "conv2.bias"));
  EXPECT_THAT(Labels(none), ElementsAre("conv2"));
}

TEST_F(GraphSpaceTest, ARepeatChainsCopiesWithParametersOfTheirOwn) {
  const GraphSpace space = Space(R"(mutator { repeat { target: "conv2" depth: [ 0, 1, 3 ] } })");
  Chooser deep = Follow({{"conv2", 2}}), gone = Follow({});
  const auto model = space.Materialise(deep);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Nodes(*model), testing::Contains("conv2.2 Conv2d"));
  EXPECT_EQ(Find(*model, "conv2.2")->inputs(0).node(), "conv2.1");
  const auto without = space.Materialise(gone);
  ASSERT_TRUE(without.ok()) << without.status();
  EXPECT_EQ(without->graphs(0).nodes(2).inputs(0).node(), "relu") << "the input is passed on";
}

TEST_F(GraphSpaceTest, AnInputChoiceAddsWhatItTakes) {
  const GraphSpace space = Space(R"(mutator {
    input_choice { target: "dropout" candidate: [ ".", "conv2", "relu" ] n_chosen: 2 } })");
  Chooser chooser = Follow({});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  const v1::Node* const sum = Find(*model, "dropout.input.add");
  ASSERT_NE(sum, nullptr);
  EXPECT_EQ(sum->op().type(), "aten::add.Tensor");
  EXPECT_EQ(Find(*model, "dropout")->inputs(0).node(), sum->name());
  EXPECT_THAT(CreateError(R"(mutator { input_choice { target: "dropout" candidate: "head.fc1" } })"),
              HasSubstr("'head.fc1' is no node beside 'dropout'"));
}

TEST_F(GraphSpaceTest, AFilterTakesAllThatFit) {
  const GraphSpace space = Space(R"(mutator {
    value_choice {
      filter { type: "Conv2d" attr { key: "padding" value { i: 1 } } }
      attr: "bias" candidate: [ { b: true }, { b: false } ] } })");
  Chooser chooser = Follow({});
  ASSERT_TRUE(space.Materialise(chooser).ok());
  EXPECT_THAT(Labels(chooser), ElementsAre("conv2.bias"));
}

TEST_F(GraphSpaceTest, AFilterFindsNothingWhereThereIsNothing) {
  const auto empty = Parse<v1::ModelGraph>(R"(graphs { name: "net" inputs { name: "x" } outputs { node: "x" } })");
  const auto space = GraphSpace::Create(empty, Parse<v1::SpaceConfig>(R"(mutator {
    value_choice {
      filter { attr { key: "padding" value { i: 1 } } }
      attr: "bias" candidate: [ { b: true }, { b: false } ] } })"),
                                        ops::FindOp, kNoModules);
  EXPECT_EQ(space.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(space.status().message()), HasSubstr("no node fits the filter"));
}

TEST_F(GraphSpaceTest, ChangesToOneCallOfACellLeaveOthersAlone) {
  v1::ModelGraph base = SmallNet();
  v1::Node& second = *base.mutable_graphs(0)->add_nodes();
  second.set_name("other");
  second.add_inputs()->set_node("flatten");
  second.mutable_cell()->set_graph("Head");
  base.mutable_graphs(0)->add_outputs()->set_node("other");
  const auto space = GraphSpace::Create(base, Parse<v1::SpaceConfig>(kFeature), ops::FindOp, kNoModules);
  ASSERT_TRUE(space.ok()) << space.status();
  Chooser chooser = Follow({{"feature", 1}});
  const auto model = space->Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(IntAttribute(*model, "head.fc1", "out_features"), 64);
  EXPECT_EQ(IntAttribute(*model, "other.fc1", "out_features"), 16);
}

TEST_F(GraphSpaceTest, ACellTakesTheInputsOfItsNode) {
  const GraphSpace space = Space(R"(mutator { cell {
    target: "conv2" label: "c" num_nodes: 2 concat_dim: 0 loose_end: true
    candidate { keep {} } candidate { op { type: "ReLU" } } } })");
  Chooser chooser = Follow({{"c/input_1_0", 0}, {"c/op_1_0", 1}, {"c/input_2_0", 1}});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Labels(chooser), ElementsAre("c/input_1_0", "c/op_1_0", "c/input_2_0", "c/op_2_0"));
  EXPECT_EQ(Find(*model, "conv2.op_1_0")->op().type(), "ReLU");
  EXPECT_EQ(Find(*model, "conv2.op_2_0")->op().type(), "Conv2d");
  EXPECT_EQ(Find(*model, "conv2.op_2_0")->inputs(0).node(), "conv2.op_1_0");
  EXPECT_EQ(model->graphs(0).nodes(4).name(), "relu_2");
  EXPECT_EQ(model->graphs(0).nodes(4).inputs(0).node(), "conv2.op_2_0");
  EXPECT_THAT(CreateError(R"(mutator { cell { target: "conv2" candidate { keep {} } } })"), HasSubstr("num_nodes"));
}

TEST_F(GraphSpaceTest, ALayerChoiceThatValueChoicesDecideNeedsACandidateForEachCombination) {
  v1::ModelGraph base = SmallNet();
  v1::Node* const dropout = base.mutable_graphs(0)->mutable_nodes(4);
  *dropout = Parse<v1::Node>(R"pb(
    name: "dropout"
    inputs { node: "relu_2" }
    layer_choice {
      decided_by: "a"
      decided_by: "b"
      candidates {
        name: "0"
        op { type: "ReLU" }
      }
      candidates {
        name: "1"
        op { type: "SiLU" }
      }
      candidates {
        name: "2"
        op { type: "ELU" }
      }
      candidates {
        name: "3"
        op { type: "GELU" }
      }
    })pb");
  for (const char* const label : {"a", "b"}) {
    v1::ValueChoice* const choice = base.add_value_choices();
    choice->set_label(label);
    *choice->add_candidates() = IntValue(1);
    *choice->add_candidates() = IntValue(2);
  }
  const auto space = GraphSpace::Create(base, {}, ops::FindOp, kNoModules);
  ASSERT_TRUE(space.ok()) << space.status();
  Chooser chooser = Follow({{"a", 1}});
  const auto model = space->Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Find(*model, "dropout")->op().type(), "ELU");

  base.mutable_graphs(0)->mutable_nodes(4)->mutable_layer_choice()->mutable_candidates()->RemoveLast();
  EXPECT_THAT(std::string(GraphSpace::Create(base, {}, ops::FindOp, kNoModules).status().message()),
              HasSubstr("node 'dropout': has 3 candidates, and not one for each combination of a, b"));
}

TEST_F(GraphSpaceTest, FrozenPartsAreMarked) {
  const GraphSpace space = Space(R"(frozen { target: "conv1" } frozen { target: "head.*" })");
  Chooser chooser = Follow({});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(Find(*model, "conv1")->frozen());
  EXPECT_TRUE(Find(*model, "head.fc2")->frozen());
  EXPECT_FALSE(Find(*model, "conv2")->frozen());
}

TEST_F(GraphSpaceTest, MistakesAreTold) {
  EXPECT_THAT(CreateError(R"(mutator { value_choice { target: "fc1" attr: "p" candidate { f: 0.5 } } })"),
              HasSubstr("space.mutator[0]: no node matches 'fc1'; near: "));
  EXPECT_THAT(CreateError(R"(mutator { value_choice { target: "dropout" attr: "q" candidate { f: 0.5 } } })"),
              HasSubstr("node 'dropout' (Dropout) has no attribute 'q'; it has p, inplace"));
  EXPECT_THAT(CreateError(R"(mutator { value_choice { target: "dropout" attr: "p" } })"),
              HasSubstr("at least one candidate"));
  EXPECT_THAT(CreateError(R"(mutator { layer_choice { target: "conv2" candidate { module { path: "gone.pt" } } } })"),
              HasSubstr("no file gone.pt"));
  EXPECT_THAT(CreateError(R"(mutator { custom { name: "unheard" } })"), HasSubstr("'unheard' is not registered"));
  EXPECT_THAT(CreateError(R"(frozen { target: "backbone" })"),
              HasSubstr("space.frozen[0]: no node matches 'backbone'"));
}

// A mutator of a user's that changes the topology, in the shape of NNI's MnasNet block mutator: a block becomes a chain
// of blocks of a chosen kind, whose first one changes the width.
class BlockMutator final : public Mutator {
 public:
  absl::Status Mutate(MutableModel& model, Chooser& chooser) const override {
    auto depth = chooser.ChooseValue("depth", {IntValue(1), IntValue(2)});
    if (!depth.ok()) return depth.status();
    auto kernel = chooser.ChooseValue("kernel", {IntValue(3), IntValue(5)});
    if (!kernel.ok()) return kernel.status();
    auto found = model.Find("conv2");
    if (!found.ok()) return found.status();
    NodeHandle at = found->front();
    for (int64_t i = 1; i < depth->i(); ++i) {
      v1::Node block = *at.node;
      block.set_name(model.FreeName(*at.graph, "block"));
      if (absl::Status status = model.InsertAfter(at, block); !status.ok()) return status;
      at = model.Find("conv2")->front();
    }
    absl::Status status = model.SetAttribute(at, "kernel_size", *kernel);
    if (status.ok()) status = model.SetAttribute(at, "padding", IntValue(kernel->i() / 2));
    return status;
  }
};

MutatorRegistry::Result MakeBlockMutator(const Params&, const v1::MutatorConfig&, const ModuleReader&) {
  return std::make_unique<BlockMutator>();
}
LANISTA_REGISTER(mutator, "block_mutator", MakeBlockMutator);

class ThrowingMutator final : public Mutator {
 public:
  absl::Status Mutate(MutableModel&, Chooser&) const override { throw std::runtime_error("out of ideas"); }
};

MutatorRegistry::Result MakeThrowingMutator(const Params&, const v1::MutatorConfig&, const ModuleReader&) {
  return std::make_unique<ThrowingMutator>();
}
LANISTA_REGISTER(mutator, "throwing_mutator", MakeThrowingMutator);

TEST_F(GraphSpaceTest, AUsersMutatorChangesTheTopology) {
  const GraphSpace space = Space(R"(mutator { custom { name: "block_mutator" } })");
  Chooser chooser = Follow({{"depth", 1}, {"kernel", 1}});
  const auto model = space.Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Labels(chooser), ElementsAre("depth", "kernel"));
  EXPECT_EQ(IntAttribute(*model, "conv2", "kernel_size"), 5);
  EXPECT_EQ(Find(*model, "block")->inputs(0).node(), "conv2");
  EXPECT_EQ(model->graphs(0).nodes(4).name(), "relu_2");
  EXPECT_EQ(model->graphs(0).nodes(4).inputs(0).node(), "block");
}

v1::Node Sigmoid(const std::string& name) {
  v1::Node node;
  node.set_name(name);
  node.mutable_op()->set_type("Sigmoid");
  return node;
}

TEST(MutableModelTest, ANodeIsInsertedBeforeOneInput) {
  MutableModel model(SmallNet(), ops::FindOp);
  const NodeHandle conv = model.Find("conv2")->front();
  ASSERT_TRUE(model.InsertBefore(conv, Sigmoid("gate")).ok());
  EXPECT_EQ(Find(model.model(), "conv2")->inputs(0).node(), "gate");
  EXPECT_EQ(Find(model.model(), "gate")->inputs(0).node(), "relu");
  // Nodes that change values in place run in the order of the list.
  EXPECT_EQ(model.model().graphs(0).nodes(2).name(), "gate");
  EXPECT_EQ(conv.node->name(), "conv2");

  const NodeHandle again = model.Find("conv2")->front();
  EXPECT_THAT(model.InsertBefore(again, Sigmoid("other"), 1).ToString(),
              HasSubstr("node 'conv2' has 1 inputs, and none of number 1"));
  EXPECT_FALSE(model.InsertBefore(again, Sigmoid("relu")).ok()) << "the name is taken";
}

TEST(MutableModelTest, ANodeIsInsertedBehindAnotherOne) {
  MutableModel model(SmallNet(), ops::FindOp);
  const NodeHandle relu = model.Find("relu")->front();
  ASSERT_TRUE(model.InsertAfter(relu, Sigmoid("gate")).ok());
  EXPECT_EQ(Find(model.model(), "conv2")->inputs(0).node(), "gate");
  EXPECT_EQ(model.model().graphs(0).nodes(2).name(), "gate");
}

TEST(MutableModelTest, AnInputIsReadFromAnotherNode) {
  MutableModel model(SmallNet(), ops::FindOp);
  const NodeHandle dropout = model.Find("dropout")->front();
  v1::Edge source;
  source.set_node("conv2");
  ASSERT_TRUE(model.Rewire(dropout, 0, source).ok());
  EXPECT_EQ(Find(model.model(), "dropout")->inputs(0).node(), "conv2");
  EXPECT_THAT(model.Rewire(dropout, -1, source).ToString(), HasSubstr("none of number -1"));
}

TEST_F(GraphSpaceTest, AMutatorThatThrowsIsAnError) {
  EXPECT_THAT(CreateError(R"(mutator { custom { name: "throwing_mutator" } })"),
              HasSubstr("the mutator threw: out of ideas"));
}

TEST(Expression, CountsAsPythonDoes) {
  const auto evaluate = [](v1::Operation::Kind kind, int64_t a, int64_t b) {
    return Evaluate(OperationExpression(kind, LiteralExpression(a), LiteralExpression(b)), nullptr);
  };
  EXPECT_EQ(evaluate(v1::Operation::FLOOR_DIVIDE, -7, 2)->i(), -4);
  EXPECT_EQ(evaluate(v1::Operation::MODULO, -7, 2)->i(), 1);
  EXPECT_EQ(evaluate(v1::Operation::DIVIDE, 6, 4)->f(), 1.5);
  EXPECT_EQ(evaluate(v1::Operation::MAXIMUM, 6, 4)->i(), 6);
  EXPECT_THAT(std::string(evaluate(v1::Operation::FLOOR_DIVIDE, 1, 0).status().message()),
              HasSubstr("division by zero"));
  EXPECT_THAT(std::string(evaluate(v1::Operation::MULTIPLY, int64_t{1} << 62, 4).status().message()),
              HasSubstr("too large"));
}

}  // namespace
}  // namespace lanista::graph
