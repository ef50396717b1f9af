// A graph as JSON, as text and as a drawing.
#ifndef LANISTA_SRC_VIEWS_GRAPH_VIEW_H_
#define LANISTA_SRC_VIEWS_GRAPH_VIEW_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"
#include "src/views/text_table.h"

namespace lanista {

// `show-graph`: {
//   "name",
//   "parameters": trained and frozen elements, shared ones counted once; null where a node does not know its own,
//   "flops": of one run; an unknown batch counts as 1, a multiply-add as two; null where a node does not know its own,
//   "inputs": [{"name", "shape"}],
//   "nodes": [{
//     "name": path, "type": operator, class of the cell, "LayerChoice", ...
//     "attributes": {name: value}: those that are set; numbers and lists as such, expressions and tensors as text,
//     "inputs": [path of the node, or name of the input, that the value comes from; ":1" after it for slot 1],
//     "shape": of the first output, -1 for unknown dimensions; null where the rank is unknown or it is no tensor,
//     "outputs": [types as text],
//     "parameters", "flops": as above, of cells the sum of what is in them,
//     "depth": how many cells and choices are around it, "choice": label, where it is one; else null
//   }] in the order of execution, what is inside a node after it,
//   "warnings": [...]
// }
// REQUIRES: Validate is OK; InferTypes, if there are to be shapes. RESOURCE_EXHAUSTED: more than a million rows.
absl::StatusOr<nlohmann::ordered_json> GraphDocument(const v1::ModelGraph& model, graph::OpLookup find_op);

// The costs of a graph, as GraphDocument counts them; nullopt: not known.
struct GraphCosts {
  std::optional<int64_t> parameters;
  std::optional<int64_t> flops;
  // A node because of which `flops` are not known: "layers.act (aten::erfinv)". Empty: they are known.
  std::string without_flops;
};
absl::StatusOr<GraphCosts> CountGraphCosts(const v1::ModelGraph& model, graph::OpLookup find_op);

// The same as a tree, for a terminal of `width` columns.
std::string GraphText(const nlohmann::ordered_json& document, int width = kAnyWidth);

// The same in Graphviz's language: a box for each node with its shape, parameters and attributes (kernel sizes and so
// on), cells as boxes around their nodes.
std::string GraphDot(const nlohmann::ordered_json& document);

}  // namespace lanista

#endif  // LANISTA_SRC_VIEWS_GRAPH_VIEW_H_
