// What the models of an experiment are judged by: its objectives and its limits.
#ifndef LANISTA_SRC_GOALS_GOALS_H_
#define LANISTA_SRC_GOALS_GOALS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "protos/trial.pb.h"
#include "src/base/metric_names.h"

namespace lanista {

// A value of a metric with this objective, turned so that larger is better; and back.
double Turned(double value, v1::Objective objective);

// A metric that models are compared by.
struct Goal {
  std::string metric;
  // MAXIMIZE or MINIMIZE.
  v1::Objective objective = v1::MAXIMIZE;
};

// Objectives and limits of a valid configuration. Immutable: any thread may use it.
class Goals {
 public:
  // Only `objective`, `objectives` and `constraint` matter.
  explicit Goals(const v1::ExperimentConfig& config);
  // Of the experiment that the trial belongs to: which metrics count is known there, and not always which way. Without
  // a limit on `memory` where models are graphs: it is on an estimate that is made before.
  explicit Goals(const v1::TrialSpec& trial);

  // At least one.
  const std::vector<Goal>& objectives() const { return objectives_; }
  bool has_several_objectives() const { return objectives_.size() > 1; }
  bool has_limits() const { return !limits_.empty(); }
  // The one objective is `default`, and there are no limits: what most experiments have.
  bool only_default() const {
    return !has_several_objectives() && !has_limits() && objectives_[0].metric == kDefaultMetric;
  }
  // Whether any objective or limit is about this metric.
  bool Names(absl::string_view metric) const;
  // The same for limits alone.
  bool Limits(absl::string_view metric) const;

  // The values of all objectives, turned so that larger is better; nullopt where one of the metrics is missing, or NaN.
  std::optional<std::vector<double>> Values(const v1::Metrics& metrics) const;

  // The same of a model that may be among the best; nullopt also where it did not succeed or breaks a limit.
  std::optional<std::vector<double>> BestValues(const v1::ModelOutcome& outcome) const;

  // How far the metrics break the limits: the distance from each, as a part of the limit (of 1, where that is 0),
  // summed up. A metric that is missing breaks none. 0: all limits are kept.
  double Violation(const v1::Metrics& metrics) const;

  // The metrics that break limits, for people: "params 1200000 (at most 1000000)". Empty: none does.
  std::string DescribeViolation(const v1::Metrics& metrics) const;

  // The first metric that an objective or a limit names and that is not among these, with the field that names it:
  // "objectives[1].metric: 'latency'". Empty: all are there.
  std::string FindMissing(const v1::Metrics& metrics) const;

 private:
  template <typename Config>
  void Read(const Config& config, v1::Objective objective);

  std::vector<Goal> objectives_;
  std::vector<v1::ConstraintConfig> limits_;
};

// For people: of so many models that were tried none keeps the limits. `nearest`: what Goals::DescribeViolation says of
// the one that breaks them least.
std::string NothingWithinLimits(int64_t tried, absl::string_view nearest);

}  // namespace lanista

#endif  // LANISTA_SRC_GOALS_GOALS_H_
