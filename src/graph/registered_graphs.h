// Graph spaces that a user's own program builds, known by name.
#ifndef LANISTA_SRC_GRAPH_REGISTERED_GRAPHS_H_
#define LANISTA_SRC_GRAPH_REGISTERED_GRAPHS_H_

#include <functional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "protos/graph.pb.h"
#include "src/base/params.h"
#include "src/base/register.h"

namespace lanista::graph {

// Builds a base model, with or without choices in it (src/graph/builder.h), from the configuration's `space { params
// }`. An error, an exception, or a parameter that the factory does not read fails the space.
using GraphFactory = std::function<absl::StatusOr<v1::ModelGraph>(const Params& params)>;

// Makes `factory` known as `space { registered: NAME }` with `engine { graph {} }` or `engine { cgo {} }`. Called
// before main, or before lanista::Init; ends the program if the name is taken.
bool RegisterGraph(const std::string& name, GraphFactory factory);

// Runs the factory of this name. NOT_FOUND lists the known names.
absl::StatusOr<v1::ModelGraph> MakeRegisteredGraph(const std::string& name, const Params::Values& params);

}  // namespace lanista::graph

namespace lanista::kinds {
// For LANISTA_REGISTER(graph_space, "name", make).
struct graph_space {
  // RegisterGraph.
  static bool Register(const std::string&, const std::string& name, graph::GraphFactory make) {
    return graph::RegisterGraph(name, std::move(make));
  }
};
}  // namespace lanista::kinds

#endif  // LANISTA_SRC_GRAPH_REGISTERED_GRAPHS_H_
