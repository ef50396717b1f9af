// Decides the choices that are left in a graph.
#ifndef LANISTA_SRC_GRAPH_MATERIALISE_H_
#define LANISTA_SRC_GRAPH_MATERIALISE_H_

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/graph/fit_widths.h"
#include "src/graph/mutator.h"

namespace lanista::graph {

// Asks `chooser` for every active choice, in the order of execution, and replaces the choice by the result. Graphs that
// no node calls any more are removed. Returns the nodes whose attributes depend on a value choice with `propagate`.
// Errors name the node or label. REQUIRES: Validate is OK.
absl::StatusOr<NodeNames> DecideChoices(v1::ModelGraph* model, Chooser& chooser);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_MATERIALISE_H_
