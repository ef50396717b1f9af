// Graphs: what a mutator changes (lanista/mutator.h), and base models that a program builds instead of importing them
// (docs/engines.md).
//
//   namespace graph = lanista::graph;
//
//   absl::StatusOr<lanista::v1::ModelGraph> Net(const lanista::Params& params) {
//     graph::Builder net("Net", graph::kOperators);
//     graph::Handle x = net.Input("x", graph::TensorType(lanista::v1::Tensor::FLOAT32, {-1, 784}));
//     const graph::Number width = net.ValueChoice("width", {64, 128});
//     x = net.Add("fc1", graph::MakeOp("Linear", {{"in_features", 784}, {"out_features", width}}), {x});
//     x = net.Add("act", graph::MakeOp("ReLU"), {x});
//     x = net.Add("fc2", graph::MakeOp("Linear", {{"in_features", width}, {"out_features", 10}}), {x});
//     net.Output(x);
//     return std::move(net).Build();
//   }
//
//   lanista::RegisterGraphSpace("net", Net);                   // in main, before lanista::Init
//
// and in the configuration: space { registered: "net" } engine { graph {} }. The same at namespace scope:
// LANISTA_REGISTER(graph_space, "net", Net).
//
// A graph is a protobuf message, lanista::v1::ModelGraph: graphs of nodes, which are operators, cells (other graphs) or
// choices. It holds no tensors, so graphs are copied and compared freely. graph::Builder makes one, graph::VisitNodes
// reads one, graph::MutableModel changes one: there a path ("layer1.0.conv1") names a node. Objects are used by one
// thread; what is const may be read by many. Builders and MutableModels own their graph; a NodeHandle points into it,
// and is valid until a node is inserted into, or removed from, the same graph. Errors are INVALID_ARGUMENT or
// NOT_FOUND, and name the node and what would be allowed.
#ifndef LANISTA_INCLUDE_LANISTA_GRAPH_H_
#define LANISTA_INCLUDE_LANISTA_GRAPH_H_

#include <string>
#include <utility>

#include "protos/experiment.pb.h"
#include "protos/graph.pb.h"
#include "src/base/params.h"
#include "src/base/registrations.h"
#include "src/base/taken_names.h"
#include "src/graph/builder.h"
#include "src/graph/graph.h"
#include "src/graph/mutable_model.h"
#include "src/graph/registered_graphs.h"
#include "src/ops/registry.h"

namespace lanista {

namespace graph {

// The operators that Lanista knows, for Builder, Validate and InferTypes: the module classes of torch.nn, and the aten
// operators that have a schema.
inline constexpr OpLookup kOperators = ops::FindOp;

}  // namespace graph

// Makes `factory` known as `space { registered: NAME }` for the engines graph and cgo. It is called in trial processes,
// on one thread, and must build the same graph each time. An error, an exception, or a parameter that it does not read
// fails the space. REQUIRES: before lanista::Init. A name that is taken, by a model space too, is told when an
// experiment or lanista::Main starts.
inline void RegisterGraphSpace(const std::string& name, graph::GraphFactory factory) {
  if (!Registrations::Get().Admit("graph space", name, TakenNames<v1::SpaceConfig>())) return;
  graph::RegisterGraph(name, std::move(factory));
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_GRAPH_H_
