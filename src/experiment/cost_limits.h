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

// Counts those of the limited metrics that the head can tell by a sample's graph; nullopt: none of them.
std::optional<ModelCosts> LimitedCosts(const v1::ExperimentConfig& config, const PlannerContext& context);

// What the head can tell of a sample by its graph. Empty where there is no such limit, or where only trial processes
// can make the models (engine direct, mutators of the user's own): they check the limits once a model is built.
// INVALID_ARGUMENT: a limit that nobody could check.
absl::StatusOr<LimitsOfSamples> CostLimits(const v1::ExperimentConfig& config, const PlannerContext& context);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_COST_LIMITS_H_
