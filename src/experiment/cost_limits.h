// Limits on what models cost, checked before they are trained.
#ifndef LANISTA_SRC_EXPERIMENT_COST_LIMITS_H_
#define LANISTA_SRC_EXPERIMENT_COST_LIMITS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "engines/model_costs.h"
#include "engines/planner.h"
#include "protos/experiment.pb.h"
#include "src/strategies/guarded_strategy.h"

namespace lanista {

// Computes the limited metrics that follow from a sample's graph; nullopt: none does.
std::optional<ModelCosts> LimitedCosts(const v1::ExperimentConfig& config, const PlannerContext& context);

// The limits that the head can check by a sample's graph. Empty if there are none, or if only trial processes can make
// the models (engine direct, a user's own mutators): those check the limits when a model is built. INVALID_ARGUMENT: a
// limit that neither head nor trial processes could check.
absl::StatusOr<LimitsOfSamples> CostLimits(const v1::ExperimentConfig& config, const PlannerContext& context);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_COST_LIMITS_H_
