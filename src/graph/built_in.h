// Lanista's own operators: neither torch.nn classes nor aten operators.
#ifndef LANISTA_SRC_GRAPH_BUILT_IN_H_
#define LANISTA_SRC_GRAPH_BUILT_IN_H_

#include "absl/strings/string_view.h"
#include "protos/graph.pb.h"

namespace lanista::graph {

// Whoever runs or writes graphs treats each of them in a way of its own.
enum class BuiltIn {
  // Another operator, or a node that is none.
  kNone,
  // A tensor of the model, trained or not; its name in the state_dict is the node's path.
  kParameter,
  // Attribute `value`, a tensor that is part of the graph.
  kConstant,
  // Whether the module that runs the graph is in training mode.
  kTraining,
  // Ends the run unless its input is true; attribute `message`.
  kAssert,
};

// The operator of this type; kNone for those of torch.nn and LibTorch.
BuiltIn BuiltInOf(absl::string_view type);
BuiltIn BuiltInOf(const v1::Node& node);

// Its type in graphs: "Training". REQUIRES: it is not kNone.
const char* TypeOf(BuiltIn built_in);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_BUILT_IN_H_
