// Which nodes a configured mutator changes.
#ifndef LANISTA_SRC_GRAPH_MUTATORS_TARGETS_H_
#define LANISTA_SRC_GRAPH_MUTATORS_TARGETS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "src/graph/mutable_model.h"

namespace lanista::graph {

// The nodes at `target` (a path), or those that match `filter` (nullptr: not given). INVALID_ARGUMENT: not exactly one
// of the two is set; NOT_FOUND: nothing matches.
absl::StatusOr<std::vector<NodeHandle>> FindTargets(MutableModel& model, const std::string& target,
                                                    const v1::NodeFilter* filter);

// The filter of a mutator's configuration, or nullptr.
template <typename Config>
const v1::NodeFilter* FilterOf(const Config& config) {
  return config.has_filter() ? &config.filter() : nullptr;
}

}  // namespace lanista::graph

#endif  // LANISTA_SRC_GRAPH_MUTATORS_TARGETS_H_
