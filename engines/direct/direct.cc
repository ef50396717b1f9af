// The direct engine's plan: one trial a model.
#include <memory>

#include "engines/planner.h"

namespace lanista {
namespace {

absl::StatusOr<std::unique_ptr<Planner>> MakeDirectPlanner(const v1::DirectEngineConfig&, const PlannerContext&) {
  return std::make_unique<SinglePlanner>();
}

LANISTA_REGISTER_BUILT_IN(PlannerRegistry, direct, v1::DirectEngineConfig, MakeDirectPlanner);

}  // namespace
}  // namespace lanista
