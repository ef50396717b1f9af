#include "src/goals/goals.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "src/base/component.h"
#include "src/base/metric_names.h"

namespace lanista {
namespace {

const double* Find(const v1::Metrics& metrics, const std::string& name) {
  const auto found = metrics.values().find(name);
  return found == metrics.values().end() ? nullptr : &found->second;
}

// How far a value is beyond a limit; 0 or less: it keeps the limit.
double Beyond(double distance, double limit) { return limit == 0 ? distance : distance / std::abs(limit); }

double ViolationOf(const v1::ConstraintConfig& limit, double value) {
  double violation = 0;
  if (limit.has_max()) violation = std::max(violation, Beyond(value - limit.max(), limit.max()));
  if (limit.has_min()) violation = std::max(violation, Beyond(limit.min() - value, limit.min()));
  return violation;
}

}  // namespace

double Turned(double value, v1::ObjectiveConfig::Goal objective) {
  return objective == v1::ObjectiveConfig::MINIMIZE ? -value : value;
}

Goals::Goals(const v1::ExperimentConfig& config) { Read(config, config.objective()); }

Goals::Goals(const v1::TrialSpec& trial) {
  Read(trial, v1::ObjectiveConfig::MAXIMIZE);
  if (!RulesOfComponent(trial.engine()).knows_graphs()) return;
  limits_.erase(std::remove_if(limits_.begin(), limits_.end(),
                               [](const v1::ConstraintConfig& limit) { return limit.metric() == kMemoryMetric; }),
                limits_.end());
}

template <typename Config>
void Goals::Read(const Config& config, v1::ObjectiveConfig::Goal objective) {
  const auto direction = [](v1::ObjectiveConfig::Goal one) {
    return one == v1::ObjectiveConfig::MINIMIZE ? v1::ObjectiveConfig::MINIMIZE : v1::ObjectiveConfig::MAXIMIZE;
  };
  for (const v1::ObjectiveConfig& one : config.objectives()) {
    objectives_.push_back({one.has_metric() ? one.metric() : kDefaultMetric, direction(one.goal())});
  }
  if (objectives_.empty()) objectives_.push_back({kDefaultMetric, direction(objective)});
  limits_.assign(config.constraint().begin(), config.constraint().end());
}

bool Goals::Names(absl::string_view metric) const {
  return Limits(metric) || std::any_of(objectives_.begin(), objectives_.end(),
                                       [metric](const Goal& goal) { return goal.metric == metric; });
}

bool Goals::Limits(absl::string_view metric) const {
  return std::any_of(limits_.begin(), limits_.end(),
                     [metric](const v1::ConstraintConfig& limit) { return limit.metric() == metric; });
}

std::optional<std::vector<double>> Goals::Values(const v1::Metrics& metrics) const {
  std::vector<double> values;
  for (const Goal& goal : objectives_) {
    const double* const value = Find(metrics, goal.metric);
    if (value == nullptr || !std::isfinite(*value)) return std::nullopt;
    values.push_back(Turned(*value, goal.objective));
  }
  return values;
}

std::optional<std::vector<double>> Goals::BestValues(const v1::ModelOutcome& outcome) const {
  if (outcome.outcome() != v1::ModelEnded::SUCCEEDED || Violation(outcome.metrics()) > 0) return std::nullopt;
  return Values(outcome.metrics());
}

double Goals::Violation(const v1::Metrics& metrics) const {
  double violation = 0;
  for (const v1::ConstraintConfig& limit : limits_) {
    const double* const value = Find(metrics, limit.metric());
    if (value != nullptr) violation += ViolationOf(limit, *value);
  }
  return violation;
}

std::string Goals::DescribeViolation(const v1::Metrics& metrics) const {
  std::string text;
  for (const v1::ConstraintConfig& limit : limits_) {
    const double* const value = Find(metrics, limit.metric());
    if (value == nullptr || ViolationOf(limit, *value) <= 0) continue;
    const bool above = limit.has_max() && *value > limit.max();
    absl::StrAppendFormat(&text, "%s%s %.15g (at %s %.15g)", text.empty() ? "" : ", ", limit.metric(), *value,
                          above ? "most" : "least", above ? limit.max() : limit.min());
  }
  return text;
}

std::string NothingWithinLimits(int64_t tried, absl::string_view nearest) {
  return absl::StrCat("none of the ", tried, " models that were tried is within the limits; the nearest has ", nearest,
                      ": relax the limits, or change the space");
}

std::string Goals::FindMissing(const v1::Metrics& metrics) const {
  const auto missing = [&metrics](const char* field, size_t i, const std::string& metric) {
    if (metrics.values().count(metric) > 0) return std::string();
    return absl::StrCat(field, "[", i, "].metric: '", metric, "'");
  };
  for (size_t i = 0; i < objectives_.size(); ++i) {
    if (std::string text = missing("objectives", i, objectives_[i].metric); !text.empty()) return text;
  }
  for (size_t i = 0; i < limits_.size(); ++i) {
    if (std::string text = missing("constraint", i, limits_[i].metric()); !text.empty()) return text;
  }
  return "";
}

}  // namespace lanista
