#include "src/graph/builder.h"

#include "gmock/gmock.h"
#include "src/graph/graph.h"
#include "src/graph/mutator.h"
#include "src/graph/registered_graphs.h"
#include "src/ops/registry.h"

namespace lanista::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Takes the last option of every choice.
Chooser TakeLast() {
  return Chooser([](const v1::Choice& choice) -> absl::StatusOr<v1::Decision> {
    v1::Decision decision;
    decision.set_label(choice.label());
    for (int i = choice.candidates_size() - choice.n_chosen(); i < choice.candidates_size(); ++i) {
      decision.add_index(i);
      *decision.add_value() = choice.candidates(i);
    }
    return decision;
  });
}

// "name type" of the root's nodes.
std::vector<std::string> Nodes(const v1::ModelGraph& model) {
  std::vector<std::string> nodes;
  for (const v1::Node& node : RootGraph(model).nodes()) {
    nodes.push_back(node.name() + " " + (node.has_op() ? node.op().type() : "cell " + node.cell().graph()));
  }
  return nodes;
}

v1::Node Linear(const Number& in, const Number& out) {
  return MakeOp("Linear", {{"in_features", in}, {"out_features", out}});
}

absl::StatusOr<v1::ModelGraph> Block() {
  Builder block("Block", ops::FindOp);
  const Handle x = block.Input("x");
  const Handle y = block.Add("fc", Linear(16, 16), {x});
  block.Output(block.Add("sum", MakeOp("aten::add.Tensor"), {{"self", x}, {"other", y}}));
  return std::move(block).Build();
}

absl::StatusOr<v1::ModelGraph> Net(const Params&) {
  Builder net("Net", ops::FindOp);
  const auto block = Block();
  if (!block.ok()) return block.status();
  const v1::Node cell = net.Cell(*block);
  const Number width = net.ValueChoice("width", {4, 6});
  Handle x = net.Input("x", TensorType(v1::Tensor::FLOAT32, {-1, 16}));
  x = net.Add("blocks", MakeRepeat("depth", {cell, cell, cell}, {1, 3}), {x});
  x = net.Add("act", MakeLayerChoice("act", {{"relu", MakeOp("ReLU")}, {"silu", MakeOp("SiLU")}}), {x});
  const Handle hidden = net.Add("fc1", Linear(16, width * 2), {x});
  x = net.Add("out", MakeInputChoice("out"), {x, net.Add("fc2", Linear(Max(width, 2) * 2, 16), {hidden})});
  net.Output(x);
  return std::move(net).Build();
}
LANISTA_REGISTER(graph_space, "builder_test_net", Net);

TEST(Builder, BuildsASpaceWithAllKindsOfChoices) {
  const auto base = MakeRegisteredGraph("builder_test_net", {});
  ASSERT_TRUE(base.ok()) << base.status();
  const auto space = GraphSpace::Create(*base, {}, ops::FindOp, nullptr);
  ASSERT_TRUE(space.ok()) << space.status();
  Chooser chooser = TakeLast();
  const auto model = space->Materialise(chooser);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Nodes(*model), ElementsAre("blocks.0 cell Block", "blocks.1 cell Block", "blocks.2 cell Block",
                                         "act SiLU", "fc1 Linear", "fc2 Linear"));
  EXPECT_EQ(TypeToText(RootGraph(*model).nodes(4).outputs(0)), "float32[-1, 12]");
  EXPECT_EQ(RootGraph(*model).outputs(0).node(), "fc2");
}

TEST(Builder, MistakesNameTheNode) {
  Builder unfit("Net", ops::FindOp);
  const Handle x = unfit.Input("x", TensorType(v1::Tensor::FLOAT32, {-1, 3}));
  unfit.Output(unfit.Add("fc", Linear(4, 2), {x}));
  EXPECT_THAT(std::string(std::move(unfit).Build().status().message()),
              HasSubstr("node 'fc' (Linear): expects 4 input features (in_features), gets 3"));

  Builder unknown("Net", ops::FindOp);
  unknown.Output(unknown.Add("fc", MakeOp("Linaer"), {unknown.Input("x")}));
  EXPECT_THAT(std::string(std::move(unknown).Build().status().message()), HasSubstr("node 'fc'"));

  Builder dangling("Net", ops::FindOp);
  dangling.Output(dangling.Add("relu", MakeOp("ReLU"), {Handle{"nowhere"}}));
  EXPECT_THAT(std::string(std::move(dangling).Build().status().message()), HasSubstr("nowhere"));
}

TEST(RegisteredGraphsDeathTest, TwoOfOneNameSayWhatToDo) {
  EXPECT_DEATH(RegisterGraph("builder_test_net", Net),
               "the graph space 'builder_test_net' is registered twice: give one of the two another name");
}

TEST(RegisteredGraphs, AnUnknownNameListsTheKnownOnes) {
  EXPECT_THAT(std::string(MakeRegisteredGraph("nobody", {}).status().message()),
              HasSubstr("no graph space 'nobody' is registered in this program; known: builder_test_net"));
}

}  // namespace
}  // namespace lanista::graph
