// Reading the graph IR: names, paths, order; checking it.
#ifndef LANISTA_SRC_GRAPH_GRAPH_H_
#define LANISTA_SRC_GRAPH_GRAPH_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// The graph of this name; nullptr if there is none.
const v1::Graph* FindGraph(const v1::ModelGraph& model, absl::string_view name);
// The same of a model that may be changed.
v1::Graph* FindGraph(v1::ModelGraph* model, absl::string_view name);

// The model's root graph. REQUIRES: there is one (Validate).
const v1::Graph& RootGraph(const v1::ModelGraph& model);

// The path of the module that a node calls: the field `module`, or the node's name where that field is empty.
const std::string& ModuleOf(const v1::Node& node);

// The class from which a graph was made: its name without the number that tells copies apart ("Bottleneck#2").
std::string ClassOf(absl::string_view graph_name);

// "layer1.0" + "conv1" -> "layer1.0.conv1"; an empty prefix adds nothing.
std::string JoinPath(absl::string_view prefix, absl::string_view name);

// The indices of graph.nodes() in topological order. Of the nodes that are ready, the first one in the graph comes
// next, so an order that is topological already does not change. INVALID_ARGUMENT names the nodes of a cycle, or an
// edge whose source does not exist. Linear in nodes and edges.
absl::StatusOr<std::vector<int>> ExecutionOrder(const v1::Graph& graph);

// Calls `visit` for each node of the model and of the cells and switches below it, with its path, in the order of
// execution. A graph that several cells call is visited once for each of them. Candidates of choices and blocks of
// repeats are visited after the choice, below its path ("conv2.separable"). REQUIRES: Validate is OK.
void VisitNodes(const v1::ModelGraph& model,
                const std::function<void(const std::string& path, const v1::Node& node)>& visit);

// OK if the model is well formed: one or more graphs with different names, a root, references (graphs, nodes, slots,
// archives, labels) that exist, no cycles among nodes or among cells, known operators whose attributes and number of
// inputs fit the schema that `find_op` returns, choices with labels and candidates; equal labels mean equal choices.
// INVALID_ARGUMENT says which node ("node 'layer1.0.conv1': ...") and why. LibTorch operators without a schema pass if
// CheckOperatorAllowed allows them. Types are not checked here: InferTypes checks them.
absl::Status Validate(const v1::ModelGraph& model, OpLookup find_op);

// Infers the types of all values from those of the root's inputs, and replaces earlier types. INVALID_ARGUMENT names
// the first node whose inputs do not fit, by its path, with both shapes. Types that cannot be inferred (of opaque
// modules, operators without a schema, choices whose candidates differ) stay unknown, except for kinds that the graph
// gives. A graph that is called with different types keeps what all calls have in common. REQUIRES: Validate is OK.
absl::Status InferTypes(v1::ModelGraph* model, OpLookup find_op);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_GRAPH_H_
