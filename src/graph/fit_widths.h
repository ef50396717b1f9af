// Adapts the readers of a value to its changed width.
#ifndef LANISTA_SRC_GRAPH_FIT_WIDTHS_H_
#define LANISTA_SRC_GRAPH_FIT_WIDTHS_H_

#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "protos/graph.pb.h"
#include "src/graph/op_schema.h"

namespace lanista::graph {

// Nodes, each named by its graph and its own name.
using NodeNames = std::set<std::pair<std::string, std::string>>;

// Follows the outputs of the `changed` nodes through the model, by the types that operators infer, and sets the
// attributes that give the width of a reader's input: in_channels, in_features, num_features, num_channels,
// normalized_shape, input_size, num_parameters. A depthwise convolution (groups equal to in_channels) stays depthwise
// and keeps its number of outputs per channel. Operators without such an attribute, including those that combine values
// (a sum, a concatenation), need no change. INVALID_ARGUMENT names the node that cannot follow: its input's shape is
// unknown, it is opaque, or its inputs no longer fit each other. REQUIRES: Validate is OK except for attributes that do
// not match yet, no choice is open, and no graph is called from two places.
absl::Status FitWidths(const NodeNames& changed, v1::ModelGraph* model, OpLookup find_op);

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_FIT_WIDTHS_H_
