#include "src/graph/graph.h"

#include <fstream>
#include <limits>
#include <random>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/stubs/logging.h"
#include "src/graph/built_in.h"
#include "src/graph/io.h"
#include "src/graph/mutable_model.h"
#include "src/ops/registry.h"
#include "tests/graph/graph_testing.h"

namespace lanista::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string ErrorOf(const v1::ModelGraph& model) {
  const absl::Status status = Validate(model, ops::FindOp);
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(GraphIo, EveryFormGivesTheSameBytesThroughEveryOther) {
  v1::ModelGraph model = SmallNet();
  // Not in order: the canonical spelling sorts attributes.
  std::swap(*model.mutable_graphs(0)->mutable_nodes(0)->mutable_op()->mutable_attr(0),
            *model.mutable_graphs(0)->mutable_nodes(0)->mutable_op()->mutable_attr(2));
  const Format formats[] = {Format::kText, Format::kJson, Format::kBinary};
  for (const Format first : formats) {
    for (const Format second : formats) {
      const std::string written = Write(model, first);
      const auto through = Read(Write(*Read(written, first), second), second);
      ASSERT_TRUE(through.ok()) << through.status();
      EXPECT_EQ(Write(*through, first), written);
    }
  }
}

TEST(GraphIo, NamesLineAndColumnOrField) {
  const auto text = Read("graphs {\n  name: 3\n}", Format::kText);
  EXPECT_THAT(std::string(text.status().message()), HasSubstr("line 2, column 9"));
  const auto json = Read(R"({"graphs": [{"nam": "x"}]})", Format::kJson);
  EXPECT_THAT(std::string(json.status().message()), HasSubstr("nam"));
  EXPECT_FALSE(Read("no graph at all", Format::kBinary).ok());
  for (const Format format : {Format::kText, Format::kBinary}) {
    EXPECT_THAT(std::string(Read("", format).status().message()), HasSubstr("no graph"));
  }
  EXPECT_THAT(std::string(Read("version: 7 graphs { name: 'a' }", Format::kText).status().message()),
              HasSubstr("version 7"));
}

TEST(GraphIo, AGraphWithFieldsOfAnotherProgramIsRefused) {
  v1::ModelGraph model = SmallNet();
  v1::Node& node = *model.mutable_graphs(0)->mutable_nodes(0);
  node.GetReflection()->MutableUnknownFields(&node)->AddVarint(1000, 1);
  const auto read = Read(Write(model, Format::kBinary), Format::kBinary);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("fields that this program does not know"));
}

TEST(GraphIo, SurvivesDamagedFiles) {
  // protobuf prints what it finds.
  const google::protobuf::LogSilencer quiet;
  std::mt19937 random(1);
  for (const Format format : {Format::kText, Format::kJson, Format::kBinary}) {
    const std::string good = Write(SmallNet(), format);
    int accepted = 0;
    for (int i = 0; i < 2000; ++i) {
      std::string bad = good;
      for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
        bad[random() % bad.size()] = static_cast<char>(random());
      }
      const auto read = Read(bad, format);
      if (!read.ok()) {
        EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
        continue;
      }
      ++accepted;
      // What it holds can be written, and is the same when it is read again.
      const std::string written = Write(*read, format);
      const auto again = Read(written, format);
      ASSERT_TRUE(again.ok()) << again.status() << "\n" << bad;
      EXPECT_EQ(Write(*again, format), written);
      // It need not be a model. If it is, types can be inferred, or the reason why not can be told.
      v1::ModelGraph model = *read;
      if (!Validate(model, ops::FindOp).ok()) continue;
      const absl::Status inferred = InferTypes(&model, ops::FindOp);
      EXPECT_TRUE(inferred.ok() || absl::IsInvalidArgument(inferred)) << inferred;
    }
    // Edits within a name are graph files all the same; most edits break the syntax.
    EXPECT_GT(accepted, 0);
    EXPECT_LT(accepted, 2000);
  }
}

TEST(Validate, TakesAGoodModel) { EXPECT_TRUE(Validate(SmallNet(), ops::FindOp).ok()); }

TEST(Validate, NamesTheNodeAndWhatIsWrong) {
  v1::ModelGraph model = SmallNet();
  model.mutable_graphs(0)->mutable_nodes(2)->mutable_inputs(0)->set_node("nowhere");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'conv2': reads from 'nowhere'"));

  model = SmallNet();
  model.mutable_graphs(0)->mutable_nodes(2)->mutable_inputs(0)->set_slot(1);
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'conv2': reads slot 1 of 'relu', which has 1"));

  // Nothing says how many values it has.
  model.mutable_graphs(0)->mutable_nodes(1)->mutable_op()->set_type("aten::frexp.Tensor");
  EXPECT_TRUE(Validate(model, ops::FindOp).ok());
  model.mutable_graphs(0)->mutable_nodes(2)->mutable_inputs(0)->set_slot(std::numeric_limits<int>::max());
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'conv2': reads slot 2147483647 of 'relu', which has at most 10000"));

  model = SmallNet();
  model.mutable_graphs(0)->mutable_nodes(1)->set_name("conv1");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'conv1': the name is there already"));

  model = SmallNet();
  *model.mutable_graphs(0)->mutable_nodes(2)->add_inputs() = model.graphs(0).nodes(2).inputs(0);
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'conv2': Conv2d takes 1 inputs, not 2"));

  model = SmallNet();
  model.mutable_graphs(1)->mutable_nodes(0)->mutable_op()->mutable_attr(0)->mutable_value()->set_s("many");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'head.fc1': attribute 'in_features' of Linear must be an integer"));

  model = SmallNet();
  model.mutable_graphs(1)->mutable_nodes(0)->mutable_op()->mutable_attr(0)->set_key("in_feature");
  EXPECT_THAT(ErrorOf(model),
              HasSubstr("Linear has no attribute 'in_feature'; it has in_features, out_features, bias"));

  model = SmallNet();
  model.mutable_graphs(0)->mutable_nodes(1)->mutable_op()->set_type("Relu");
  EXPECT_THAT(ErrorOf(model), HasSubstr("node 'relu': there is no operator 'Relu'"));
}

TEST(Validate, RefusesCellsOfVeryManyNodes) {
  const auto cell_of = [](int nodes, int ops) {
    auto model = Parse<v1::ModelGraph>(R"(
      graphs {
        name: "net" inputs { name: "x" }
        nodes { name: "cell" inputs { node: "x" } nas_cell {
          label: "cell" num_predecessors: 1 op_candidates { name: "relu" op { type: "ReLU" } } } }
        outputs { node: "cell" }
      })");
    v1::NasCellNode* const cell = model.mutable_graphs(0)->mutable_nodes(0)->mutable_nas_cell();
    cell->set_num_nodes(nodes);
    cell->set_num_ops_per_node(ops);
    return model;
  };
  EXPECT_TRUE(Validate(cell_of(1000, 2), ops::FindOp).ok());
  const char kMost[] = "node 'cell': num_nodes and num_ops_per_node of a cell must be at most 1000";
  EXPECT_EQ(ErrorOf(cell_of(1001, 1)), kMost);
  EXPECT_EQ(ErrorOf(cell_of(2, 2000000000)), kMost);
}

TEST(MutableModel, SearchesWithManyStarsQuickly) {
  v1::ModelGraph model = SmallNet();
  std::string name = "a", pattern = "**.a";
  for (int i = 0; i < 60; ++i) name += ".a";
  for (int i = 0; i < 30; ++i) pattern += ".**.a";
  v1::Node* const node = model.mutable_graphs(0)->mutable_nodes(0);
  for (v1::Node& one : *model.mutable_graphs(0)->mutable_nodes()) {
    for (v1::Edge& edge : *one.mutable_inputs()) {
      if (edge.node() == node->name()) edge.set_node(name);
    }
  }
  node->set_name(name);
  MutableModel mutable_model(model, ops::FindOp);
  EXPECT_EQ(mutable_model.Find(pattern)->size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(mutable_model.Find(pattern + ".b").status()));
  EXPECT_EQ(mutable_model.Find("a.**")->size(), 1u);
  EXPECT_EQ(mutable_model.Find("**.fc1")->size(), 1u);
}

TEST(Validate, RefusesOperatorsThatTouchFilesOrAreNoneOfLibTorchs) {
  for (const char* const type : {"aten::save", "aten::from_file", "aten::from_file.out", "prim::rpc_sync", "my::op"}) {
    v1::ModelGraph model = SmallNet();
    model.mutable_graphs(0)->mutable_nodes(1)->mutable_op()->set_type(type);
    EXPECT_THAT(ErrorOf(model), HasSubstr(absl::StrCat("node 'relu': operator '", type, "' is refused: it may touch")));
  }
  v1::ModelGraph model = SmallNet();
  model.mutable_graphs(0)->mutable_nodes(1)->mutable_op()->set_type("aten::without_a_schema");
  EXPECT_TRUE(Validate(model, ops::FindOp).ok());
}

TEST(MutableModel, AFileOfAnotherContentIsAnotherArchive) {
  MutableModel model(SmallNet(), ops::FindOp);
  v1::Archive archive;
  archive.set_path("/net.pt");
  archive.set_sha256("1");
  const int first = model.AddArchive(archive);
  EXPECT_EQ(model.AddArchive(archive), first);
  archive.set_sha256("2");
  EXPECT_NE(model.AddArchive(archive), first);
}

TEST(GraphIo, ReadsOnlyFilesThatEnd) {
  EXPECT_EQ(ReadFile("/dev/zero").status().message(), "cannot read /dev/zero: it is no regular file");
  EXPECT_EQ(ReadFile("/nowhere/net.graph").status().code(), absl::StatusCode::kNotFound);
}

TEST(GraphIo, OverwritesNoArchiveOfTheGraph) {
  v1::ModelGraph model = SmallNet();
  const std::string path = testing::TempDir() + "/weights.pt";
  std::ofstream(path) << "weights";
  model.add_archives()->set_path(path);
  EXPECT_THAT(std::string(WriteFile(path, model).message()), HasSubstr("a file that is read here"));
  EXPECT_TRUE(WriteFile(testing::TempDir() + "/net.graph", model).ok());
}

TEST(Validate, FindsCyclesAmongNodesAndAmongCells) {
  v1::ModelGraph model = SmallNet();
  model.mutable_graphs(0)->mutable_nodes(0)->mutable_inputs(0)->set_node("conv2");
  EXPECT_THAT(ErrorOf(model), HasSubstr("has a cycle: conv1 -> "));

  model = SmallNet();
  v1::Node& node = *model.mutable_graphs(1)->add_nodes();
  node.set_name("again");
  node.add_inputs()->set_node("x");
  node.mutable_cell()->set_graph("Head");
  EXPECT_THAT(ErrorOf(model), HasSubstr("graph 'Head' calls itself"));
}

TEST(Validate, RefusesWhatIsNestedTooDeeplyAndWhatExplodes) {
  // Each graph calls the next one twice: 2^60 nodes.
  v1::ModelGraph model;
  for (int i = 0; i < 60; ++i) {
    v1::Graph& graph = *model.add_graphs();
    graph.set_name(absl::StrCat("g", i));
    graph.add_inputs()->set_name("x");
    std::string last = "x";
    for (const char* name : {"a", "b"}) {
      v1::Node& node = *graph.add_nodes();
      node.set_name(name);
      node.add_inputs()->set_node(last);
      last = name;
      if (i < 59) {
        node.mutable_cell()->set_graph(absl::StrCat("g", i + 1));
      } else {
        node.mutable_op()->set_type("ReLU");
      }
    }
    graph.add_outputs()->set_node(last);
  }
  EXPECT_THAT(ErrorOf(model), HasSubstr("graph 'g0' has more than 1000000 nodes"));
  EXPECT_TRUE(InferTypes(&model, ops::FindOp).ok()) << "equal calls are looked at once";

  v1::ModelGraph deep;
  for (int i = 0; i < 300; ++i) {
    v1::Graph& graph = *deep.add_graphs();
    graph.set_name(absl::StrCat("g", i));
    graph.add_inputs()->set_name("x");
    v1::Node& node = *graph.add_nodes();
    node.set_name("n");
    node.add_inputs()->set_node("x");
    if (i < 299) {
      node.mutable_cell()->set_graph(absl::StrCat("g", i + 1));
    } else {
      node.mutable_op()->set_type("ReLU");
    }
    graph.add_outputs()->set_node("n");
  }
  EXPECT_THAT(ErrorOf(deep), HasSubstr("nested in more than 100"));
}

TEST(Validate, TakesAHundredThousandNodesInARow) {
  v1::ModelGraph model;
  v1::Graph& graph = *model.add_graphs();
  graph.set_name("chain");
  graph.add_inputs()->set_name("x");
  std::string last = "x";
  for (int i = 0; i < 100000; ++i) {
    v1::Node& node = *graph.add_nodes();
    node.set_name(absl::StrCat("n", i));
    node.add_inputs()->set_node(last);
    node.mutable_op()->set_type("ReLU");
    last = node.name();
  }
  graph.add_outputs()->set_node(last);
  EXPECT_TRUE(Validate(model, ops::FindOp).ok());
  EXPECT_TRUE(InferTypes(&model, ops::FindOp).ok());
}

TEST(ExecutionOrder, KeepsTheOrderWhereItCan) {
  v1::ModelGraph model = SmallNet();
  EXPECT_THAT(*ExecutionOrder(model.graphs(1)), ElementsAre(0, 1));
  std::swap(*model.mutable_graphs(1)->mutable_nodes(0), *model.mutable_graphs(1)->mutable_nodes(1));
  EXPECT_THAT(*ExecutionOrder(model.graphs(1)), ElementsAre(1, 0));
}

TEST(VisitNodes, GoesIntoCellsWithPaths) {
  std::vector<std::string> paths;
  VisitNodes(SmallNet(), [&paths](const std::string& path, const v1::Node&) { paths.push_back(path); });
  EXPECT_THAT(paths,
              ElementsAre("conv1", "relu", "conv2", "relu", "dropout", "flatten", "head", "head.fc1", "head.fc2"));
}

TEST(BuiltIn, OperatorsAreThoseWithoutAClassOrALibrary) {
  for (const BuiltIn built_in : {BuiltIn::kParameter, BuiltIn::kConstant, BuiltIn::kTraining, BuiltIn::kAssert}) {
    EXPECT_EQ(BuiltInOf(TypeOf(built_in)), built_in);
    EXPECT_NE(ops::FindOp(TypeOf(built_in)), nullptr) << TypeOf(built_in);
  }
  EXPECT_EQ(BuiltInOf("Conv2d"), BuiltIn::kNone);
  EXPECT_EQ(BuiltInOf("prim::Constant"), BuiltIn::kNone);
  // A node that is no operator.
  EXPECT_EQ(BuiltInOf(v1::Node()), BuiltIn::kNone);
}

TEST(InferTypes, FollowsShapesThroughCells) {
  v1::ModelGraph model = SmallNet();
  ASSERT_TRUE(InferTypes(&model, ops::FindOp).ok());
  EXPECT_EQ(TypeToText(model.graphs(0).nodes(0).outputs(0)), "float32[-1, 4, 6, 6]");
  EXPECT_EQ(TypeToText(model.graphs(1).inputs(0).type()), "float32[-1, 144]");
  EXPECT_EQ(TypeToText(model.graphs(0).nodes(6).outputs(0)), "float32[-1, 10]");
}

TEST(InferTypes, NamesTheNodeAndBothShapes) {
  v1::ModelGraph model = SmallNet();
  model.mutable_graphs(1)->mutable_nodes(0)->mutable_op()->mutable_attr(0)->mutable_value()->set_i(100);
  const absl::Status status = InferTypes(&model, ops::FindOp);
  EXPECT_EQ(status.message(),
            "node 'head.fc1' (Linear): expects 100 input features (in_features), gets 144 in float32[-1, 144]");
}

}  // namespace
}  // namespace lanista::graph
