#include "src/experiment/cost_limits.h"

#include <memory>
#include <set>
#include <string>
#include <utility>

#include "src/base/component.h"
#include "src/base/metric_names.h"
#include "src/goals/goals.h"

namespace lanista {

std::optional<ModelCosts> LimitedCosts(const v1::ExperimentConfig& config, const PlannerContext& context) {
  if (RulesOfComponent(config.evaluator()).has_own_costs()) return std::nullopt;
  std::set<std::string> metrics;
  for (const v1::ConstraintConfig& limit : config.constraint()) metrics.insert(limit.metric());
  return ModelCosts::Create(context, metrics);
}

absl::StatusOr<LimitsOfSamples> CostLimits(const v1::ExperimentConfig& config, const PlannerContext& context) {
  std::optional<ModelCosts> created = LimitedCosts(config, context);
  if (!created.has_value()) {
    const bool has_own = RulesOfComponent(config.evaluator()).has_own_costs();
    if (has_own || !Goals(config).Limits(kMemoryMetric)) return LimitsOfSamples();
    return absl::InvalidArgumentError(
        "constraint: 'memory' is estimated from a model's graph before it trains, and the graphs of this space are "
        "known "
        "to its trials only (because of mutators of your own, or their size): limit 'params' or 'flops' instead");
  }
  const auto costs = std::make_shared<const ModelCosts>(*std::move(created));
  const Goals goals(config);
  LimitsOfSamples limits;
  limits.violation = [costs, goals](const v1::Sample& sample) -> std::optional<double> {
    const std::optional<v1::Metrics> metrics = costs->Of(sample);
    if (!metrics.has_value()) return std::nullopt;
    return goals.Violation(*metrics);
  };
  limits.describe = [costs, goals](const v1::Sample& sample) {
    return goals.DescribeViolation(costs->Of(sample).value_or(v1::Metrics()));
  };
  return limits;
}

}  // namespace lanista
