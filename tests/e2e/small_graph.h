// A network of two layers as a graph file, a space of it, and a search in that.
#ifndef LANISTA_TESTS_E2E_SMALL_GRAPH_H_
#define LANISTA_TESTS_E2E_SMALL_GRAPH_H_

#include <string>

namespace lanista {

inline constexpr char kSmallGraph[] = R"(
  name: "Net"
  graphs {
    name: "Net"
    inputs { name: "x" type { kind: TENSOR data_type: FLOAT32 shape { dims: [-1, 1, 28, 28] } } }
    nodes { name: "flatten" op { type: "Flatten" } inputs { node: "x" } }
    nodes { name: "hidden" inputs { node: "flatten" }
      op { type: "Linear" attr { key: "in_features" value { i: 784 } } attr { key: "out_features" value { i: 16 } } } }
    nodes { name: "relu" op { type: "ReLU" } inputs { node: "hidden" } }
    nodes { name: "output" inputs { node: "relu" }
      op { type: "Linear" attr { key: "in_features" value { i: 16 } } attr { key: "out_features" value { i: 10 } } } }
    outputs { node: "output" }
  }
)";

// Twelve models, where the graph is in net.textproto beside the configuration. One with a hidden layer of width w has
// 795 w + 10 parameters.
inline constexpr char kSmallGraphSpace[] = R"(graph { path: "net.textproto" }
    mutator { layer_choice { target: "relu" candidate { keep {} } candidate { op { type: "Tanh" } } candidate { op { type: "GELU" } } } }
    mutator { value_choice { target: "hidden" attr: "out_features" candidate { i: 8 } candidate { i: 16 } candidate { i: 24 } candidate { i: 32 } }
              also { target: "output" attr: "in_features" } })";

// Writes the graph and a search in this space into a new folder, and gives the search's path. The search tries the
// first `models` and keeps the weights of the `best`.
std::string WriteSearchWithKeptWeights(int models, int best, int validation_samples = 30);

}  // namespace lanista

#endif  // LANISTA_TESTS_E2E_SMALL_GRAPH_H_
