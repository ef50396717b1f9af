// The graph engine's planner: one trial per model.
#include <memory>

#include "engines/planner.h"

namespace lanista {
namespace {

absl::StatusOr<std::unique_ptr<Planner>> MakeGraphPlanner(const v1::GraphEngineConfig&, const PlannerContext&) {
  return std::make_unique<SinglePlanner>();
}

LANISTA_REGISTER_BUILT_IN(PlannerRegistry, graph, v1::GraphEngineConfig, MakeGraphPlanner);

}  // namespace
}  // namespace lanista
