#include "src/views/trials_document.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/device_name.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/goals/goals.h"
#include "src/goals/ranking.h"
#include "src/storage/state_dir.h"
#include "src/views/document_parts.h"
#include "src/views/standing.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// How many models TrialsReader::Next reads at a time: enough that a query costs little beside what it reads.
constexpr size_t kModelsAtATime = 100;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

Json FailureJson(const v1::Failure& failure) {
  Json json;
  json["reason"] = v1::Failure::Reason_Name(failure.reason());
  json["message"] = failure.message();
  json["signal"] = failure.signal() != 0 ? Json(failure.signal()) : Json();
  json["exit_status"] = failure.reason() == v1::Failure::EXIT ? Json(failure.exit_status()) : Json();
  return json;
}

Json SecondsJson(const AttemptRecord& attempt) {
  if (!attempt.started.has_value() || !attempt.ended.has_value()) return Json();
  return Seconds(*attempt.ended - *attempt.started);
}

Json AttemptJson(const AttemptRecord& attempt, const std::vector<int>& members) {
  Json json;
  json["attempt"] = attempt.attempt;
  json["trial"] = attempt.trial;
  json["device"] = attempt.started.has_value() ? Json(DeviceName(attempt.device)) : Json();
  json["node"] = attempt.started.has_value() ? Json(attempt.device.node()) : Json();
  json["start"] = TimeJson(attempt.started);
  json["end"] = TimeJson(attempt.ended);
  json["seconds"] = SecondsJson(attempt);
  json["merged_with"] = Json::array();
  for (const int member : members) {
    if (member != attempt.model) json["merged_with"].push_back(member);
  }
  json["alone_because"] = attempt.alone_because.empty() ? Json() : Json(attempt.alone_because);
  json["models_memory"] = attempt.end.models_memory() > 0 ? Json(attempt.end.models_memory()) : Json();
  json["outcome"] = attempt.ended.has_value() ? Json(v1::ModelEnded::Outcome_Name(attempt.end.outcome())) : Json();
  json["failure"] = attempt.end.has_failure() ? FailureJson(attempt.end.failure()) : Json();
  const v1::ModelEnded::LostCause cause = attempt.end.lost_cause();
  json["lost_cause"] =
      cause == v1::ModelEnded::LOST_CAUSE_UNSPECIFIED ? Json() : Json(v1::ModelEnded::LostCause_Name(cause));
  json["resumed_steps"] = attempt.resumed_steps;
  json["assignment"] = attempt.assignment.empty() ? Json() : Json(attempt.assignment);
  return json;
}

// The verdict that stopped a model.
Json StoppedJson(const ModelRecord& model) {
  if (!model.outcome.has_value() || model.outcome->stopped_step() == 0) return Json();
  Json json;
  json["step"] = model.outcome->stopped_step();
  json["because"] = model.outcome->stopped_because();
  return json;
}

// The fronts of those models that may be among the best.
std::map<int, int> FrontsOf(const std::vector<ModelRecord>& models, const Goals& goals) {
  std::vector<RankedModel> ranked;
  for (const ModelRecord& model : models) {
    if (!model.outcome.has_value()) continue;
    std::optional<std::vector<double>> values = goals.BestValues(*model.outcome);
    if (values.has_value()) ranked.push_back({model.model, *std::move(values)});
  }
  SortBestFirst(ranked);
  std::map<int, int> fronts;
  for (const RankedModel& model : ranked) fronts[model.model] = model.front;
  return fronts;
}

// The models of each trial.
using TrialMembers = std::map<int, std::vector<int>>;

// What a model reported after a step.
struct ReportedStep {
  int model = 0;
  int attempt = 0;
  int sequence = 0;
  int step = 0;
  absl::Time time;
  // As MetricsJson.
  Json::object_t metrics;
};

// In the order of model, attempt and sequence.
absl::StatusOr<std::vector<ReportedStep>> StepsOf(const JournalReader& reader, std::vector<int> models) {
  std::vector<ReportedStep> steps;
  LANISTA_RETURN_IF_ERROR(reader.VisitReports(std::move(models), [&steps](const ReportedValue& report) {
    if (steps.empty() || steps.back().sequence != report.sequence || steps.back().attempt != report.attempt ||
        steps.back().model != report.model) {
      steps.push_back({report.model, report.attempt, report.sequence, report.step, report.time, {}});
    }
    // They come by name.
    Json::object_t& metrics = steps.back().metrics;
    if (report.name == kDefaultMetric && !metrics.empty()) {
      Json::object_t default_first;
      default_first.emplace_back(report.name, report.value);
      for (auto& [name, value] : metrics) default_first.emplace_back(name, std::move(value));
      metrics = std::move(default_first);
    } else {
      metrics.emplace_back(report.name, report.value);
    }
  }));
  return steps;
}

// Makes entries of `models` of `trials`.
struct ModelEntries {
  using Steps = std::vector<ReportedStep>::iterator;

  // Of a model with these attempts and steps; takes the metrics of the steps.
  Json Make(const ModelRecord& model, const std::vector<AttemptRecord>& attempts_of_it, Steps step,
            Steps steps_end) const {
    Json attempts = Json::array();
    ShownAttempt shown;
    for (const AttemptRecord& attempt : attempts_of_it) {
      attempts.push_back(AttemptJson(attempt, members.at(attempt.trial)));
      shown.See(attempt, model.outcome);
    }
    Json steps = Json::array();
    for (; step != steps_end; ++step) {
      if (!shown.Shows(step->attempt, step->step)) continue;
      // Most of a document are these.
      Json::object_t entry;
      entry.reserve(3);
      entry.emplace_back("step", step->step);
      entry.emplace_back("time", TimeJson(step->time));
      entry.emplace_back("metrics", std::move(step->metrics));
      steps.push_back(std::move(entry));
    }
    const bool has_metrics = model.outcome.has_value() && !model.outcome->metrics().values().empty();
    const bool failed = model.outcome.has_value() && model.outcome->has_failure();
    Json entry;
    entry["id"] = model.model;
    entry["sample"] = SampleJson(model);
    entry["status"] = ModelStatus(model.outcome, shown.started(), interrupted);
    entry["params"] = CountJson(model.params);
    entry["flops"] = CountJson(model.flops);
    entry["metrics"]["final"] = has_metrics ? MetricsJson(model.outcome->metrics()) : Json();
    entry["metrics"]["intermediate"] = std::move(steps);
    entry["failure"] = failed ? FailureJson(model.outcome->failure()) : Json();
    entry["stopped"] = StoppedJson(model);
    const std::string breaks = has_metrics ? goals.DescribeViolation(model.outcome->metrics()) : "";
    entry["violation"] = has_metrics ? Json(goals.Violation(model.outcome->metrics())) : Json();
    entry["breaks"] = breaks.empty() ? Json() : Json(breaks);
    const auto front = fronts.find(model.model);
    entry["front"] = front == fronts.end() ? Json() : Json(front->second);
    const auto kept = weights.find(model.model);
    entry["weights"] = kept == weights.end() ? Json() : Json(absl::StrCat(kept->second, "/", kWeightsFile));
    entry["attempts"] = std::move(attempts);
    return entry;
  }

  const Goals& goals;
  const std::map<int, int>& fronts;
  // JournalReader::Weights.
  const std::map<int, std::string>& weights;
  const TrialMembers& members;
  const bool interrupted;
};

// A model of a list, before its reports are read.
struct ListedModel {
  ModelRecord model;
  std::vector<AttemptRecord> attempts;
};

// What decides whether a model comes before another one in the order "best"; the smaller goes first.
std::tuple<int, int, double, double> BestFirstKey(const ListedModel& listed, const Goals& goals,
                                                  const std::map<int, int>& fronts) {
  const Goal& goal = goals.objectives()[0];
  double value = kInfinity, violation = 0;
  if (listed.model.outcome.has_value()) {
    const auto& metrics = listed.model.outcome->metrics().values();
    const auto metric = metrics.find(goal.metric);
    if (metric != metrics.end() && !std::isnan(metric->second)) {
      value = goal.objective == v1::ObjectiveConfig::MINIMIZE ? metric->second : -metric->second;
    }
    if (!metrics.empty()) violation = goals.Violation(listed.model.outcome->metrics());
  }
  const auto front = fronts.find(listed.model.model);
  if (front != fronts.end()) return {0, front->second, 0, value};
  if (violation > 0) return {2, 0, violation, value};
  return {value < kInfinity ? 1 : 3, 0, 0, value};
}

// The same in the order "duration".
double LongestFirstKey(const ListedModel& listed) {
  const Json seconds = listed.attempts.empty() ? Json() : SecondsJson(listed.attempts.back());
  return seconds.is_null() ? kInfinity : -seconds.get<double>();
}

// Of equal ones the order stays.
template <typename KeyOf>
void SortByKey(std::vector<ListedModel>* models, const KeyOf& key_of) {
  using Key = decltype(key_of(ListedModel()));
  std::vector<std::pair<Key, size_t>> order;
  for (size_t i = 0; i < models->size(); ++i) order.emplace_back(key_of((*models)[i]), i);
  std::sort(order.begin(), order.end());
  std::vector<ListedModel> sorted;
  for (const auto& [key, i] : order) sorted.push_back(std::move((*models)[i]));
  *models = std::move(sorted);
}

}  // namespace

struct TrialsReader::Facts {
  explicit Facts(const JournalReader& reader) : reader(reader), goals(reader.experiment().config()) {}

  // Sets `models`: those with the status (empty: all), by number.
  void Select(std::vector<ModelRecord> all, std::vector<AttemptRecord> attempts, const std::string& status);
  void Sort(const std::string& order);

  const JournalReader& reader;
  const Goals goals;
  bool interrupted = false;
  TrialMembers members;
  std::map<int, int> fronts;
  std::map<int, std::string> weights;
  // What was asked for, in its order, and how many of them Next has returned.
  std::vector<ListedModel> models;
  size_t next = 0;
};

void TrialsReader::Facts::Select(std::vector<ModelRecord> all, std::vector<AttemptRecord> attempts,
                                 const std::string& status) {
  // Both are sorted by model.
  auto attempt = attempts.begin();
  for (ModelRecord& model : all) {
    ListedModel listed;
    ShownAttempt shown;
    for (; attempt != attempts.end() && attempt->model == model.model; ++attempt) {
      shown.See(*attempt, model.outcome);
      listed.attempts.push_back(std::move(*attempt));
    }
    if (!status.empty() && ModelStatus(model.outcome, shown.started(), interrupted) != status) continue;
    listed.model = std::move(model);
    models.push_back(std::move(listed));
  }
}

void TrialsReader::Facts::Sort(const std::string& order) {
  if (order == "best") {
    SortByKey(&models, [this](const ListedModel& listed) { return BestFirstKey(listed, goals, fronts); });
  } else if (order == "duration") {
    SortByKey(&models, LongestFirstKey);
  }
}

TrialsReader::TrialsReader(std::unique_ptr<Facts> facts) : facts_(std::move(facts)) {}
TrialsReader::TrialsReader(TrialsReader&& other) noexcept = default;
TrialsReader::~TrialsReader() = default;

absl::StatusOr<TrialsReader> TrialsReader::Open(const JournalReader& reader, const TrialsQuery& query) {
  auto facts = std::make_unique<Facts>(reader);
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, absl::InfiniteFuture()));
  facts->interrupted = standing.interrupted;
  LANISTA_ASSIGN_OR_RETURN(std::vector<ModelRecord> models, reader.Models());
  LANISTA_ASSIGN_OR_RETURN(std::vector<AttemptRecord> attempts, reader.Attempts());
  for (const AttemptRecord& attempt : attempts) facts->members[attempt.trial].push_back(attempt.model);
  facts->fronts = FrontsOf(models, facts->goals);
  LANISTA_ASSIGN_OR_RETURN(facts->weights, reader.Weights());
  facts->Select(std::move(models), std::move(attempts), absl::AsciiStrToUpper(query.status));
  facts->Sort(query.sort);
  const size_t limit = query.limit > 0 ? static_cast<size_t>(query.limit) : facts->models.size();
  facts->models.resize(std::min(limit, facts->models.size()));
  return TrialsReader(std::move(facts));
}

Json TrialsReader::Beginning() const {
  const v1::ExperimentCreated& experiment = facts_->reader.experiment();
  Json json;
  json["id"] = experiment.experiment();
  AddGoals(experiment.config(), &json);
  json["models"] = Json::array();
  return json;
}

absl::StatusOr<std::vector<Json>> TrialsReader::Next() {
  std::vector<Json> entries;
  const size_t end = std::min(facts_->next + kModelsAtATime, facts_->models.size());
  if (facts_->next == end) return entries;
  std::vector<int> numbers;
  for (size_t i = facts_->next; i < end; ++i) numbers.push_back(facts_->models[i].model.model);
  LANISTA_ASSIGN_OR_RETURN(std::vector<ReportedStep> steps, StepsOf(facts_->reader, std::move(numbers)));
  const ModelEntries make{facts_->goals, facts_->fronts, facts_->weights, facts_->members, facts_->interrupted};
  for (; facts_->next < end; ++facts_->next) {
    const auto& [model, attempts] = facts_->models[facts_->next];
    const auto first = std::lower_bound(steps.begin(), steps.end(), model.model,
                                        [](const ReportedStep& step, int number) { return step.model < number; });
    const auto last = std::find_if(first, steps.end(),
                                   [&number = model.model](const ReportedStep& step) { return step.model != number; });
    entries.push_back(make.Make(model, attempts, first, last));
  }
  return entries;
}

absl::StatusOr<Json> TrialsDocument(const JournalReader& reader, const TrialsQuery& query) {
  LANISTA_ASSIGN_OR_RETURN(TrialsReader trials, TrialsReader::Open(reader, query));
  Json json = trials.Beginning();
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(std::vector<Json> entries, trials.Next());
    if (entries.empty()) return json;
    for (Json& entry : entries) json["models"].push_back(std::move(entry));
  }
}

absl::StatusOr<Json> TrialDocument(const JournalReader& reader, int model) {
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, absl::InfiniteFuture()));
  LANISTA_ASSIGN_OR_RETURN(const ModelRecord record, reader.FindModel(model));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, reader.AttemptsOf({model}));
  LANISTA_ASSIGN_OR_RETURN(std::vector<ReportedStep> steps, StepsOf(reader, {model}));
  std::vector<int> trials;
  for (const AttemptRecord& attempt : attempts) trials.push_back(attempt.trial);
  LANISTA_ASSIGN_OR_RETURN(const TrialMembers members, reader.MembersOf(trials));
  const Goals goals(reader.experiment().config());
  std::map<int, int> fronts;
  if (record.outcome.has_value() && goals.BestValues(*record.outcome).has_value()) {
    LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, reader.Models());
    fronts = FrontsOf(models, goals);
  }
  LANISTA_ASSIGN_OR_RETURN(const auto weights, reader.Weights());
  return ModelEntries{goals, fronts, weights, members, standing.interrupted}.Make(record, attempts, steps.begin(),
                                                                                  steps.end());
}

}  // namespace lanista
