// Decides what is still open in a graph.
#ifndef LANISTA_SRC_GRAPH_MATERIALISE_H_
#define LANISTA_SRC_GRAPH_MATERIALISE_H_

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/graph/fit_widths.h"
#include "src/graph/mutator.h"

namespace lanista::graph {

// Asks `chooser` for every choice that is active, in the order of execution, and puts what was chosen in its place.
// Graphs that nothing calls any more are dropped. Returns the nodes with an attribute that came from a value choice
// that propagates. Errors name the node or label. REQUIRES: Validate is OK.
absl::StatusOr<NodeNames> DecideChoices(v1::ModelGraph* model, Chooser& chooser);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_MATERIALISE_H_
