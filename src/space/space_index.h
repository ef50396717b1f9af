// What Space derives from its spec.
#ifndef LANISTA_SRC_SPACE_SPACE_INDEX_H_
#define LANISTA_SRC_SPACE_SPACE_INDEX_H_

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "src/space/decision_graph.h"
#include "src/space/space.h"

namespace lanista {

struct Space::Index {
  absl::flat_hash_map<std::string, int> by_label;
  ChoiceTable table;
  // Absent if the space cannot be counted.
  std::optional<DecisionGraph> graph;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SPACE_SPACE_INDEX_H_
