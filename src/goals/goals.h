// The goals by which the models of an experiment are judged: its objectives and its limits.
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

// Changes the sign of a metric's value if the objective is MINIMIZE, so that larger values are better; a second call
// changes it back.
double Turned(double value, v1::ObjectiveConfig::Goal objective);

// A metric by which models are compared.
struct Goal {
  std::string metric;
  // MAXIMIZE or MINIMIZE.
  v1::ObjectiveConfig::Goal objective = v1::ObjectiveConfig::MAXIMIZE;
};

// Objectives and limits of a valid configuration. Immutable: any thread may use it.
class Goals {
 public:
  // Only `objective`, `objectives` and `constraint` matter.
  explicit Goals(const v1::ExperimentConfig& config);
  // The goals of the experiment to which the trial belongs. A trial knows which metrics count, but not always their
  // direction. Leaves out a limit on `memory` if models are graphs, because that limit is on an estimate made before.
  explicit Goals(const v1::TrialSpec& trial);

  // At least one.
  const std::vector<Goal>& objectives() const { return objectives_; }
  bool has_several_objectives() const { return objectives_.size() > 1; }
  bool has_limits() const { return !limits_.empty(); }
  // Whether `default` is the only objective and there are no limits, as in most experiments.
  bool only_default() const {
    return !has_several_objectives() && !has_limits() && objectives_[0].metric == kDefaultMetric;
  }
  // Whether any objective or limit is about this metric.
  bool Names(absl::string_view metric) const;
  // The same for limits alone.
  bool Limits(absl::string_view metric) const;

  // The values of all objectives, with signs that make larger values better; nullopt if one of the metrics is missing,
  // NaN or infinite: such a result says that something went wrong, not how good the model is.
  std::optional<std::vector<double>> Values(const v1::Metrics& metrics) const;

  // The same for a model that may be among the best: nullopt also if it did not succeed or breaks a limit.
  std::optional<std::vector<double>> BestValues(const v1::ModelOutcome& outcome) const;

  // How far the metrics are beyond the limits: the sum of the distances, each divided by its limit (by 1 if that is 0).
  // Missing metrics break no limit. 0: all limits are kept.
  double Violation(const v1::Metrics& metrics) const;

  // The metrics that break limits, for people: "params 1200000 (at most 1000000)". Empty: none does.
  std::string DescribeViolation(const v1::Metrics& metrics) const;

  // The first metric that an objective or a limit names and that is missing here, with its field:
  // "objectives[1].metric: 'latency'". Empty: none is missing.
  std::string FindMissing(const v1::Metrics& metrics) const;

 private:
  template <typename Config>
  void Read(const Config& config, v1::ObjectiveConfig::Goal objective);

  std::vector<Goal> objectives_;
  std::vector<v1::ConstraintConfig> limits_;
};

// A message for people: none of the `tried` models keeps the limits. `nearest`: Goals::DescribeViolation of the model
// that is nearest to them.
std::string NothingWithinLimits(int64_t tried, absl::string_view nearest);

}  // namespace lanista

#endif  // LANISTA_SRC_GOALS_GOALS_H_
