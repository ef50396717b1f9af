#include "src/experiment/warm_start.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/util/message_differencer.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/experiment/attempt_ledger.h"
#include "src/goals/goals.h"
#include "src/space/space.h"
#include "src/storage/find_experiment.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

using google::protobuf::util::MessageDifferencer;

// "MAXIMIZE", or "MAXIMIZE accuracy, MINIMIZE flops".
std::string DescribeObjectives(const v1::ExperimentConfig& config) {
  return absl::StrJoin(Goals(config).objectives(), ", ", [](std::string* text, const Goal& goal) {
    absl::StrAppend(text, v1::ObjectiveConfig::Goal_Name(goal.objective),
                    goal.metric == kDefaultMetric ? "" : " " + goal.metric);
  });
}

template <typename... What>
absl::Status Refused(const What&... what) {
  return absl::FailedPreconditionError(absl::StrCat(what...));
}

constexpr char kAllow[] = "; if the metrics can be compared all the same, set warm_start.allow_other_evaluator";

absl::Status CheckSameFiles(const v1::ExperimentConfig& here, const v1::SpaceSpec& space, const v1::SpaceSpec& other) {
  const std::string& table = here.evaluator().table().path();
  for (const v1::FileDigest& file : space.files()) {
    if (here.warm_start().allow_other_evaluator() && file.path() == table) continue;
    const bool same = std::any_of(other.files().begin(), other.files().end(), [&file](const v1::FileDigest& one) {
      return one.path() == file.path() && one.sha256() == file.sha256();
    });
    if (!same) return Refused("it did not read ", file.path(), " as it is now", file.path() == table ? kAllow : "");
  }
  return absl::OkStatus();
}

absl::Status CheckSame(const v1::ExperimentConfig& here, const v1::SpaceSpec& space, const v1::ExperimentConfig& there,
                       const v1::SpaceSpec& other) {
  if (space.fingerprint() != other.fingerprint()) {
    return Refused("it has another space (here: this experiment, there: the earlier one):\n",
                   DescribeDifference(space, other));
  }
  if (DescribeObjectives(here) != DescribeObjectives(there)) {
    return Refused("its objective is ", DescribeObjectives(there), ", and this experiment's is ",
                   DescribeObjectives(here));
  }
  MessageDifferencer differencer;
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  const bool same_evaluator = differencer.Compare(there.evaluator(), here.evaluator());
  if (!same_evaluator && !here.warm_start().allow_other_evaluator()) {
    return Refused("it has another evaluator (from there to here): ", absl::StripTrailingAsciiWhitespace(difference),
                   kAllow);
  }
  return CheckSameFiles(here, space, other);
}

// The metrics with a limit in `here` that `there` does not have in the same way.
std::vector<std::string> NewLimits(const v1::ExperimentConfig& here, const v1::ExperimentConfig& there) {
  std::vector<std::string> metrics;
  for (const v1::ConstraintConfig& limit : here.constraint()) {
    const bool was_there =
        std::any_of(there.constraint().begin(), there.constraint().end(),
                    [&limit](const v1::ConstraintConfig& one) { return MessageDifferencer::Equals(one, limit); });
    if (!was_there) metrics.push_back(limit.metric());
  }
  return metrics;
}

}  // namespace

absl::Status FindWarmStart(const StateDir& state_dir, v1::ExperimentConfig* config) {
  if (!config->has_warm_start()) return absl::OkStatus();
  auto id = FindExperiment(state_dir, config->warm_start().experiment());
  if (!id.ok()) return Annotate(id.status(), "warm_start.experiment");
  config->mutable_warm_start()->set_experiment(*std::move(id));
  return absl::OkStatus();
}

absl::StatusOr<std::vector<v1::TellRequest>> ReadWarmStart(const std::string& folder,
                                                           const v1::ExperimentConfig& config,
                                                           const v1::SpaceSpec& space,
                                                           const std::optional<ModelCosts>& costs) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader journal, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::SpaceSpec> other, journal.Space());
  const std::string& id = journal.experiment().experiment();
  if (!other.has_value()) return Refused("warm_start.experiment: ", id, " never learnt its space: it has no models");
  LANISTA_RETURN_IF_ERROR(Annotate(CheckSame(config, space, journal.experiment().config(), *other),
                                   absl::StrCat("warm_start.experiment: ", id, " cannot be used")));
  std::vector<ModelRecord> models;
  if (config.warm_start().has_top()) {
    LANISTA_ASSIGN_OR_RETURN(models, journal.BestModels(config.warm_start().top()));
    std::sort(models.begin(), models.end(),
              [](const ModelRecord& a, const ModelRecord& b) { return a.model < b.model; });
  } else {
    LANISTA_ASSIGN_OR_RETURN(models, journal.Models());
  }
  std::vector<int> numbers;
  for (const ModelRecord& model : models) numbers.push_back(model.model);
  LANISTA_ASSIGN_OR_RETURN(const std::vector<IntermediateRecord> reports, journal.IntermediatesOf(numbers));
  std::map<int, StepCounter> steps;
  for (const IntermediateRecord& report : reports) steps[report.model].Add(report.intermediate);
  const Goals goals(config);
  const std::vector<std::string> new_limits = NewLimits(config, journal.experiment().config());
  // How many models are left out because they lack a metric.
  std::map<std::string, int> left_out;
  std::vector<v1::TellRequest> tells;
  for (ModelRecord& model : models) {
    // Nothing was learnt from a model that was canceled.
    if (!model.outcome.has_value() || model.outcome->outcome() == v1::ModelEnded::CANCELED) continue;
    v1::TellRequest tell = TellOf(*model.outcome, std::move(model.sample), steps[model.model].steps(), goals);
    tell.set_model(0);
    if (!new_limits.empty() && tell.has_value()) {
      v1::Metrics metrics = std::move(*model.outcome->mutable_metrics());
      if (costs.has_value()) {
        const v1::Metrics counted = costs->Of(tell.sample()).value_or(v1::Metrics());
        metrics.mutable_values()->insert(counted.values().begin(), counted.values().end());
        tell.set_violation(goals.Violation(metrics));
      }
      const auto unknown = std::find_if(new_limits.begin(), new_limits.end(), [&metrics](const std::string& metric) {
        return metrics.values().count(metric) == 0;
      });
      if (unknown != new_limits.end()) {
        ++left_out[*unknown];
        continue;
      }
    }
    // The model was not trained because of limits that are not in force any more, so nothing is known about it.
    if (tell.outcome() == v1::ModelEnded::INFEASIBLE && tell.violation() == 0) continue;
    tells.push_back(std::move(tell));
  }
  for (const auto& [metric, count] : left_out) {
    LogWarning("warm_start: {} of {} left out: the limit on '{}' is new here, and that metric is not known of {}",
               Counted(count, "model"), absl::StrCat(id, count == 1 ? " is" : " are"), metric,
               count == 1 ? "it" : "them");
  }
  return tells;
}

}  // namespace lanista
