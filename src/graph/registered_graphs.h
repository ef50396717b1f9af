// Graph spaces that are built by a program of the user's own, known by name.
#ifndef LANISTA_SRC_GRAPH_REGISTERED_GRAPHS_H_
#define LANISTA_SRC_GRAPH_REGISTERED_GRAPHS_H_

#include <string>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/base/params.h"

namespace lanista::graph {

// Builds a base model, with or without choices in it (src/graph/builder.h), from the configuration's `space { params
// }`. What it throws, or an error, fails the space; so does a parameter that it does not read.
using GraphFactory = absl::StatusOr<v1::ModelGraph> (*)(const Params& params);

// Makes `factory` known as `space { registered: NAME }` with `engine { graph {} }`. Before main; ends the program if
// the name is taken.
bool RegisterGraph(const std::string& name, GraphFactory factory);

// Runs the factory of this name. NOT_FOUND lists the names that are known.
absl::StatusOr<v1::ModelGraph> MakeRegisteredGraph(const std::string& name, const Params::Values& params);

}  // namespace lanista::graph

// At namespace scope, in a .cc file whose library is a registered_cc_library (or in the program itself).
#define LANISTA_REGISTER_GRAPH_SPACE(name, factory) \
  [[maybe_unused]] static const bool lanista_graph_space_##factory = ::lanista::graph::RegisterGraph(name, factory)

#endif  // LANISTA_SRC_GRAPH_REGISTERED_GRAPHS_H_
