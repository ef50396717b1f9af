// Lets what reads a changed width follow it.
#ifndef LANISTA_SRC_GRAPH_FIT_WIDTHS_H_
#define LANISTA_SRC_GRAPH_FIT_WIDTHS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// Nodes by the names of their graph and of themselves.
using NodeNames = std::set<std::pair<std::string, std::string>>;

// Follows the outputs of `changed` nodes through the model, by the types that operators infer, and sets what each
// reader expects of its input: in_channels, in_features, num_features, num_channels, normalized_shape, input_size,
// num_parameters. A depthwise convolution (groups equal to in_channels) stays one, with as many outputs a channel as it
// had. What does not look at the width, or joins it with others (a sum, a concatenation), needs no change.
// INVALID_ARGUMENT names the node that cannot follow: one whose input's shape is not known, one that is kept whole, or
// one whose inputs no longer fit each other. REQUIRES: Validate is OK but for attributes that are out of step, no
// choice is open, and no graph is called from two places.
absl::Status FitWidths(const NodeNames& changed, v1::ModelGraph* model, OpLookup find_op);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_FIT_WIDTHS_H_
