#include "src/views/graph_view.h"

#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "src/graph/graph.h"
#include "src/ops/registry.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

// One layer, a cell with a choice, and a shared module.
constexpr char kModel[] = R"(
  name: "Net"
  graphs {
    name: "Net"
    inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 4] } } }
    nodes {
      name: "fc1" inputs { node: "x" }
      op { type: "Linear" attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 8 } } }
    }
    nodes { name: "relu" inputs { node: "fc1" } op { type: "ReLU" } }
    nodes { name: "block" inputs { node: "relu" } cell { graph: "Block" } }
    outputs { node: "block" }
  }
  graphs {
    name: "Block"
    inputs { name: "x" }
    nodes {
      name: "fc" inputs { node: "x" }
      op { type: "Linear" attr { key: "in_features" value { i: 8 } } attr { key: "out_features" value { i: 8 } } }
    }
    nodes {
      name: "fc_2" module: "fc" inputs { node: "fc" }
      op { type: "Linear" attr { key: "in_features" value { i: 8 } } attr { key: "out_features" value { i: 8 } } }
    }
    outputs { node: "fc_2" }
  }
)";

v1::ModelGraph Parse(const std::string& text) {
  v1::ModelGraph model;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &model));
  EXPECT_TRUE(graph::Validate(model, ops::FindOp).ok()) << graph::Validate(model, ops::FindOp);
  EXPECT_TRUE(graph::InferTypes(&model, ops::FindOp).ok());
  return model;
}

TEST(GraphView, ListsNodesWithShapesParametersAndFlops) {
  const auto document = GraphDocument(Parse(kModel), ops::FindOp);
  ASSERT_TRUE(document.ok()) << document.status();
  const Json& nodes = (*document)["nodes"];
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[0]["name"], "fc1");
  EXPECT_EQ(nodes[0]["type"], "Linear");
  EXPECT_EQ(nodes[0]["shape"], Json({-1, 8}));
  EXPECT_EQ(nodes[0]["parameters"], 4 * 8 + 8);
  EXPECT_EQ(nodes[0]["attributes"]["out_features"], 8);
  EXPECT_EQ(nodes[1]["inputs"], Json({"fc1"}));
  EXPECT_EQ(nodes[3]["name"], "block.fc");
  EXPECT_EQ(nodes[3]["depth"], 1);
}

TEST(GraphView, CountsASharedModulesParametersOnce) {
  const auto document = GraphDocument(Parse(kModel), ops::FindOp);
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ((*document)["nodes"][2]["parameters"], 8 * 8 + 8);
  EXPECT_EQ((*document)["parameters"], (4 * 8 + 8) + (8 * 8 + 8));
  // Its work is done twice.
  EXPECT_EQ((*document)["nodes"][2]["flops"], 2 * (*document)["nodes"][3]["flops"].get<int64_t>());
}

TEST(GraphView, NamesTheNodeWhoseFlopsAreNotKnown) {
  const auto known = CountGraphCosts(Parse(kModel), ops::FindOp);
  ASSERT_TRUE(known.ok()) << known.status();
  EXPECT_TRUE(known->flops.has_value());
  EXPECT_EQ(known->without_flops, "");
  const auto unknown = CountGraphCosts(Parse(R"(
    name: "Net"
    graphs {
      name: "Net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [2, 4] } } }
      nodes { name: "switch" inputs { node: "x" } training_switch { training: "T" evaluation: "E" } }
      nodes { name: "block" inputs { node: "x" } cell { graph: "Block" } }
      nodes { name: "last" inputs { node: "block" arg: "self" } op { type: "aten::erfinv" } }
      outputs { node: "last" }
    }
    graphs {
      name: "T" inputs { name: "x" }
      nodes { name: "in_training_only" inputs { node: "x" arg: "self" } op { type: "aten::erfinv" } }
      outputs { node: "in_training_only" }
    }
    graphs {
      name: "E" inputs { name: "x" }
      nodes { name: "relu" inputs { node: "x" } op { type: "ReLU" } }
      outputs { node: "relu" }
    }
    graphs {
      name: "Block" inputs { name: "x" }
      nodes { name: "relu" inputs { node: "x" } op { type: "ReLU" } }
      nodes { name: "act" inputs { node: "relu" arg: "self" } op { type: "aten::erfinv" } }
      outputs { node: "act" }
    })"),
                                       ops::FindOp);
  ASSERT_TRUE(unknown.ok()) << unknown.status();
  EXPECT_FALSE(unknown->flops.has_value());
  EXPECT_EQ(unknown->without_flops, "block.act (aten::erfinv)");
}

// Lists and assertions cost nothing, and a switch what it costs in evaluation: the sum is known.
TEST(GraphView, CountsTheWorkOfEvaluation) {
  const auto document = GraphDocument(Parse(R"(
    name: "Net"
    graphs {
      name: "Net"
      inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [2, 4] } } }
      nodes { name: "flag" op { type: "Training" } }
      nodes { name: "assert" inputs { node: "flag" } op { type: "Assert" } }
      nodes { name: "list" inputs { node: "x" arg: "0" } op { type: "prim::ListConstruct" } }
      nodes { name: "cat" inputs { node: "list" arg: "tensors" } op { type: "aten::cat" } }
      nodes { name: "switch" inputs { node: "cat" } training_switch { training: "T" evaluation: "E" } }
      outputs { node: "switch" }
    }
    graphs {
      name: "T" inputs { name: "x" }
      nodes { name: "fc" inputs { node: "x" }
        op { type: "Linear" attr { key: "in_features" value { i: 4 } } attr { key: "out_features" value { i: 4 } } } }
      outputs { node: "fc" }
    }
    graphs {
      name: "E" inputs { name: "x" }
      nodes { name: "relu" inputs { node: "x" } op { type: "ReLU" } }
      outputs { node: "relu" }
    })"),
                                      ops::FindOp);
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ((*document)["flops"], 8);
  EXPECT_EQ((*document)["parameters"], 4 * 4 + 4);
}

TEST(GraphView, PrintsATree) {
  const auto document = GraphDocument(Parse(kModel), ops::FindOp);
  ASSERT_TRUE(document.ok()) << document.status();
  const std::string text = GraphText(*document);
  EXPECT_THAT(text, HasSubstr("Net: 112 parameters"));
  EXPECT_THAT(text, HasSubstr("\n  fc "));
  EXPECT_THAT(text, HasSubstr("float32[-1, 8]"));
}

TEST(GraphView, DrawsCellsAsBoxesAndEdgesBetweenNodes) {
  const auto document = GraphDocument(Parse(kModel), ops::FindOp);
  ASSERT_TRUE(document.ok()) << document.status();
  const std::string dot = GraphDot(*document);
  EXPECT_THAT(dot, HasSubstr("subgraph \"cluster_block\""));
  EXPECT_THAT(dot, HasSubstr("\"fc1\" -> \"relu\""));
  EXPECT_THAT(dot,
              HasSubstr("[label=\"fc1\\nLinear\\nin_features=4 out_features=8\\nfloat32[-1, 8]\\n40 parameters\""));
  EXPECT_THAT(dot, HasSubstr("label=\"x\\n[-1, 4]\""));
}

}  // namespace
}  // namespace lanista
