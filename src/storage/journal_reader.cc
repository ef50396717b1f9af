#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/goals/goals.h"
#include "src/storage/experiment_lock.h"
#include "src/storage/journal.h"
#include "src/storage/journal_rows.h"
#include "src/storage/schema.h"

namespace lanista {
namespace {

// The file's path as a URI that tells SQLite that no process writes the file, so that it needs no locks and no -wal or
// -shm file.
std::string ImmutableUri(const std::string& file) {
  return absl::StrCat("file:", absl::StrReplaceAll(file, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}), "?immutable=1");
}

// The WHERE clause that restricts a query to these models.
std::string WhereModel(const JournalReader::OnlyModels& only) {
  return only.has_value() ? absl::StrCat("WHERE model IN (", absl::StrJoin(*only, ","), ")") : "";
}

// Collects what a query visits.
template <typename Query>
absl::StatusOr<std::vector<ModelRecord>> Collect(const Query& query) {
  std::vector<ModelRecord> models;
  LANISTA_RETURN_IF_ERROR(query([&models](ModelRecord model) {
    models.push_back(std::move(model));
    return absl::OkStatus();
  }));
  return models;
}

}  // namespace

absl::StatusOr<JournalReader> JournalReader::Open(const std::string& folder) {
  JournalReader reader;
  reader.folder_ = folder;
  reader.holder_ = ExperimentLock::Holder(folder);
  const std::string file = JournalFile(folder);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return absl::NotFoundError(absl::StrCat("there is no journal in ", folder));
  }
  reader.last_words_ = LastWords::Read(folder);
  absl::Status status = reader.Begin(file, SQLITE_OPEN_READONLY);
  // SQLite may not make its -shm file in a read-only folder. If there is no writer's log (-wal), the database file
  // holds everything.
  if (absl::IsPermissionDenied(status) && !std::filesystem::exists(file + "-wal", error)) {
    status = reader.Begin(ImmutableUri(file), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  }
  if (!status.ok()) return status;
  return reader;
}

absl::Status JournalReader::Begin(const std::string& file, int flags) {
  LANISTA_ASSIGN_OR_RETURN(database_, SqliteDatabase::Open(file, flags));
  // The first read of the transaction fixes what the reader sees.
  LANISTA_RETURN_IF_ERROR(database_.Execute("BEGIN"));
  LANISTA_ASSIGN_OR_RETURN(version_, CheckSchema(database_, JournalFile(folder_)));
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row,
                           database_.Prepare(absl::StrCat(
                               "SELECT id, name, time, seed, config, ",
                               version_ < kVersionWithServed ? "'', 0" : "request_id, served", " FROM experiment")));
  LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
  if (!found) return absl::DataLossError(absl::StrCat(JournalFile(folder_), ": holds no experiment"));
  experiment_.set_experiment(TextAt(row, 0));
  name_ = TextAt(row, 1);
  created_ = TimeAt(row, 2);
  experiment_.set_seed(row.Int64(3));
  LANISTA_RETURN_IF_ERROR(ParseAt(row, 4, &first_config_));
  experiment_.set_request_id(TextAt(row, 5));
  experiment_.set_served(row.Int(6) != 0);
  *experiment_.mutable_config() = first_config_;
  if (version_ < kVersionWithFacts) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement change,
                           database_.Prepare("SELECT config FROM config_change ORDER BY number DESC LIMIT 1"));
  LANISTA_ASSIGN_OR_RETURN(const bool changed, change.Next());
  return changed ? ParseAt(change, 0, experiment_.mutable_config()) : absl::OkStatus();
}

absl::StatusOr<StateRecord> JournalReader::State() const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare("SELECT time, state, reason FROM state_change ORDER BY number DESC LIMIT 1"));
  LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
  StateRecord record{created_, {}};
  record.change.set_state(v1::CREATED);
  if (found) record = {TimeAt(row, 0), StateAt(row, 1, 2)};
  if (!last_words_.has_value() || last_words_->time < record.time) return record;
  record.time = last_words_->time;
  record.change.set_state(v1::EXPERIMENT_FAILED);
  record.change.set_reason(last_words_->reason);
  return record;
}

absl::StatusOr<bool> JournalReader::Served() const {
  if (version_ < kVersionWithServed) return false;
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare("SELECT served FROM state_change WHERE state = 'RUNNING' ORDER BY number DESC LIMIT 1"));
  LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
  return found ? row.Int(0) != 0 : experiment_.served();
}

absl::StatusOr<absl::Time> JournalReader::LastTime() const {
  if (version_ >= kVersionWithFacts) {
    LANISTA_ASSIGN_OR_RETURN(SqliteStatement last,
                             database_.Prepare("SELECT time FROM fact ORDER BY number DESC LIMIT 1"));
    LANISTA_RETURN_IF_ERROR(last.Next().status());
    return TimeAt(last, 0);
  }
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare(R"sql(
      SELECT max((SELECT time FROM experiment),
                 ifnull((SELECT max(time) FROM state_change), 0),
                 ifnull((SELECT max(time) FROM model), 0),
                 ifnull((SELECT max(time) FROM trial), 0),
                 ifnull((SELECT max(max(ifnull(started, 0), ifnull(ended, 0))) FROM attempt), 0),
                 ifnull((SELECT max(time) FROM metric), 0),
                 ifnull((SELECT max(time) FROM outcome), 0)))sql"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return TimeAt(row, 0);
}

bool IsFinal(v1::ExperimentState state) {
  return state == v1::DONE || state == v1::STOPPED || state == v1::EXPERIMENT_FAILED;
}

absl::StatusOr<absl::Duration> JournalReader::TimeIn(const std::vector<v1::ExperimentState>& states,
                                                     absl::Time until) const {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> changes, States());
  absl::Duration time;
  for (size_t i = 0; i < changes.size(); ++i) {
    if (std::find(states.begin(), states.end(), changes[i].change.state()) == states.end()) continue;
    const absl::Time end = i + 1 < changes.size() ? changes[i + 1].time : until;
    time += std::max(end - changes[i].time, absl::ZeroDuration());
  }
  return time;
}

absl::StatusOr<ModelCounts> JournalReader::CountModels() const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare(R"sql(
      SELECT count(*), total(outcome = 'SUCCEEDED'), total(outcome = 'FAILED'), total(outcome = 'STOPPED_EARLY'),
             total(outcome = 'CANCELED'), total(outcome = 'INFEASIBLE'), total(outcome IS NULL)
      FROM model LEFT JOIN outcome USING (model))sql"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return ModelCounts{row.Int(0), row.Int(1), row.Int(2), row.Int(3), row.Int(4), row.Int(5), row.Int(6)};
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::BestModels(int count) const {
  const Goals goals(experiment_.config());
  if (goals.only_default()) {
    const bool minimize = goals.objectives()[0].objective == v1::MINIMIZE;
    return Collect([&](const auto& visit) {
      // The rule of Goals::BestValues in SQL: NaN, which is NULL here, and infinities (9e999) do not count.
      return QueryModels(absl::StrCat("WHERE outcome = 'SUCCEEDED' AND abs(value) < 9e999 ORDER BY value ",
                                      minimize ? "ASC" : "DESC", ", model LIMIT ", count),
                         visit);
    });
  }
  LANISTA_ASSIGN_OR_RETURN(std::vector<RankedModel> ranked, RankedModels());
  if (ranked.size() > static_cast<size_t>(count)) ranked.resize(static_cast<size_t>(count));
  return ModelsOf(ranked);
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::ParetoFront() const {
  if (!Goals(experiment_.config()).has_several_objectives()) return BestModels(1);
  LANISTA_ASSIGN_OR_RETURN(std::vector<RankedModel> ranked, RankedModels());
  ranked.erase(std::find_if(ranked.begin(), ranked.end(), [](const RankedModel& model) { return model.front > 0; }),
               ranked.end());
  return ModelsOf(ranked);
}

absl::StatusOr<std::vector<RankedModel>> JournalReader::RankedModels() const {
  const Goals goals(experiment_.config());
  std::vector<RankedModel> ranked;
  LANISTA_RETURN_IF_ERROR(QueryModels("WHERE outcome = 'SUCCEEDED'", [&](const ModelRecord& model) {
    if (auto values = goals.BestValues(*model.outcome)) ranked.push_back({model.model, *std::move(values)});
    return absl::OkStatus();
  }));
  SortBestFirst(ranked);
  return ranked;
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::ModelsOf(const std::vector<RankedModel>& ranked) const {
  std::map<int, size_t> places;
  for (size_t i = 0; i < ranked.size(); ++i) places[ranked[i].model] = i;
  const auto number = [](std::string* text, const RankedModel& model) { absl::StrAppend(text, model.model); };
  std::vector<ModelRecord> models(ranked.size());
  LANISTA_RETURN_IF_ERROR(
      QueryModels(absl::StrCat("WHERE model IN (", absl::StrJoin(ranked, ",", number), ")"), [&](ModelRecord model) {
        ModelRecord& place = models[places.at(model.model)];
        place = std::move(model);
        return absl::OkStatus();
      }));
  return models;
}

absl::StatusOr<std::vector<ModelRecord>> JournalReader::Models() const {
  return Collect([&](const auto& visit) { return VisitModels(visit); });
}

absl::Status JournalReader::VisitModels(const std::function<absl::Status(ModelRecord)>& visit) const {
  return QueryModels("ORDER BY model", visit);
}

absl::Status JournalReader::QueryModels(const std::string& clauses,
                                        const std::function<absl::Status(ModelRecord)>& visit) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat(R"sql(
      SELECT model, model.time, sample, sample_proto, outcome, attempt, metrics, reason, message, signal, exit_status, )sql",
                                     version_ < kVersionWithStopping ? "0, ''" : "stopped_step, stopped_because",
                                     " FROM model LEFT JOIN outcome USING (model) ", clauses)));
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return absl::OkStatus();
    ModelRecord model;
    model.model = row.Int(0);
    model.created = TimeAt(row, 1);
    model.sample_json = TextAt(row, 2);
    LANISTA_RETURN_IF_ERROR(ParseAt(row, 3, &model.sample));
    if (!row.IsNull(4)) {
      v1::ModelOutcome& outcome = model.outcome.emplace();
      outcome.set_outcome(OutcomeAt(row, 4));
      outcome.set_attempt(row.Int(5));
      LANISTA_RETURN_IF_ERROR(MetricsAt(row, 6, outcome.mutable_metrics()));
      if (auto failure = FailureAt(row, 7)) *outcome.mutable_failure() = *std::move(failure);
      outcome.set_stopped_step(row.Int(11));
      outcome.set_stopped_because(TextAt(row, 12));
    }
    LANISTA_RETURN_IF_ERROR(visit(std::move(model)));
  }
}

absl::StatusOr<std::vector<StateRecord>> JournalReader::States() const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row,
                           database_.Prepare("SELECT time, state, reason FROM state_change ORDER BY number"));
  std::vector<StateRecord> states;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return states;
    states.push_back({TimeAt(row, 0), StateAt(row, 1, 2)});
  }
}

absl::StatusOr<std::optional<v1::SpaceSpec>> JournalReader::Space() const {
  LANISTA_ASSIGN_OR_RETURN(std::optional<v1::Discovered> discovered, Discovery());
  if (!discovered.has_value()) return std::nullopt;
  return std::move(*discovered->mutable_space());
}

absl::StatusOr<std::optional<v1::Discovered>> JournalReader::Discovery() const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat(
          "SELECT spec, ", version_ < kVersionWithFacts ? "'', 0" : "program, multi_model_evaluator", " FROM space")));
  LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
  if (!found) return std::nullopt;
  v1::Discovered discovered;
  LANISTA_RETURN_IF_ERROR(ParseAt(row, 0, discovered.mutable_space()));
  discovered.set_program(TextAt(row, 1));
  discovered.set_multi_model_evaluator(row.Int(2) != 0);
  return discovered;
}

absl::Status JournalReader::VisitStrategyCalls(
    const std::function<absl::Status(const v1::StrategyCall&)>& visit) const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare("SELECT call FROM strategy_call ORDER BY sequence"));
  v1::StrategyCall call;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return absl::OkStatus();
    LANISTA_RETURN_IF_ERROR(ParseAt(row, 0, &call));
    LANISTA_RETURN_IF_ERROR(visit(call));
  }
}

absl::Status JournalReader::VisitStoppingCalls(
    const std::function<absl::Status(const v1::StoppingCall&)>& visit) const {
  if (version_ < kVersionWithStopping) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(
          "SELECT sequence, model, step, value, stop, because, outcome FROM stopping_call ORDER BY sequence"));
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return absl::OkStatus();
    v1::StoppingCall call;
    call.set_sequence(row.Int(0));
    if (row.IsNull(6)) {
      v1::StepReport& report = *call.mutable_report()->mutable_report();
      report.set_model(row.Int(1));
      report.set_step(row.Int(2));
      report.set_value(ValueAt(row, 3));
      v1::StopVerdict& verdict = *call.mutable_report()->mutable_verdict();
      verdict.set_stop(row.Int(4) != 0);
      verdict.set_because(TextAt(row, 5));
    } else {
      v1::TellRequest& ended = *call.mutable_ended();
      ended.set_model(row.Int(1));
      ended.set_steps(row.Int(2));
      if (!row.IsNull(3)) ended.set_value(row.Double(3));
      ended.set_outcome(OutcomeAt(row, 6));
    }
    LANISTA_RETURN_IF_ERROR(visit(call));
  }
}

absl::StatusOr<std::vector<AttemptRecord>> JournalReader::Attempts() const { return QueryAttempts(""); }

absl::StatusOr<std::vector<AttemptRecord>> JournalReader::AttemptsOf(const std::vector<int>& models) const {
  return QueryAttempts(absl::StrCat("WHERE a.model IN (", absl::StrJoin(models, ","), ")"));
}

absl::StatusOr<std::map<int, int64_t>> JournalReader::OutcomeNumbers(const std::vector<int>& models) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat("SELECT id, max(number) FROM fact WHERE kind = 'outcome' AND id IN (",
                                     absl::StrJoin(models, ","), ") GROUP BY id")));
  std::map<int, int64_t> numbers;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return numbers;
    numbers[row.Int(0)] = row.Int64(1);
  }
}

absl::StatusOr<int> JournalReader::LastTrial() const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare("SELECT ifnull(max(trial), 0) FROM trial"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return row.Int(0);
}

absl::StatusOr<std::vector<AttemptRecord>> JournalReader::QueryAttempts(const std::string& clauses) const {
  std::vector<AttemptRecord> attempts;
  LANISTA_RETURN_IF_ERROR(ReadAttempts(/*with_metrics=*/true, clauses, [&attempts](AttemptRecord attempt) {
    attempts.push_back(std::move(attempt));
    return absl::OkStatus();
  }));
  return attempts;
}

absl::Status JournalReader::ReadAttempts(bool with_metrics, const std::string& clauses,
                                         const std::function<absl::Status(AttemptRecord)>& visit) const {
  // With metrics: one row for each final metric of an attempt, or one row without.
  const char* const joined = with_metrics ? R"sql(
           JOIN (SELECT trial, count(*) AS members FROM attempt GROUP BY trial) AS s USING (trial)
           LEFT JOIN metric AS m ON m.model = a.model AND m.attempt = a.attempt AND m.step IS NULL )sql"
                                          : "";
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat(R"sql(
      SELECT a.model, a.attempt, a.trial, t.time, a.started, a.device_proto, a.ended, a.outcome,
             a.reason, a.message, a.signal, a.exit_status, a.actual_sample, t.alone_because, a.models_memory, )sql",
                                     with_metrics ? "m.name, m.value, s.members, " : "NULL, NULL, 1, ",
                                     version_ < kVersionWithFacts ? "NULL, 0" : "lost_cause, resumed_steps",
                                     " FROM attempt AS a JOIN trial AS t USING (trial) ", joined, clauses,
                                     " ORDER BY a.model, a.attempt")));
  std::optional<AttemptRecord> attempt;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return attempt.has_value() ? visit(*std::move(attempt)) : absl::OkStatus();
    if (!attempt.has_value() || attempt->model != row.Int(0) || attempt->attempt != row.Int(1)) {
      if (attempt.has_value()) LANISTA_RETURN_IF_ERROR(visit(*std::move(attempt)));
      attempt.emplace();
      attempt->model = row.Int(0);
      attempt->attempt = row.Int(1);
      attempt->trial = row.Int(2);
      attempt->queued = TimeAt(row, 3);
      attempt->started = OptionalTimeAt(row, 4);
      LANISTA_RETURN_IF_ERROR(ParseAt(row, 5, &attempt->device));
      attempt->ended = OptionalTimeAt(row, 6);
      attempt->end.set_outcome(OutcomeAt(row, 7));
      if (auto failure = FailureAt(row, 8)) *attempt->end.mutable_failure() = *std::move(failure);
      if (!row.IsNull(12)) LANISTA_RETURN_IF_ERROR(ParseAt(row, 12, attempt->end.mutable_actual_sample()));
      attempt->alone_because = TextAt(row, 13);
      attempt->end.set_models_memory(row.Int64(14));
      attempt->end.set_lost_cause(LostCauseAt(row, 18));
      attempt->resumed_steps = row.Int(19);
      attempt->members = row.Int(17);
    }
    if (!row.IsNull(15)) {
      (*attempt->end.mutable_metrics()->mutable_values())[TextAt(row, 15)] = ValueAt(row, 16);
    }
  }
}

absl::StatusOr<std::vector<TrialRecord>> JournalReader::PlannedTrials() const {
  const bool has_plans = version_ >= kVersionWithPlans;
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row,
                           database_.Prepare(absl::StrCat(
                               "SELECT trial, time, alone_because, ", has_plans ? "plan" : "NULL",
                               " FROM trial WHERE alone_because != '' OR ", has_plans ? "plan IS NOT NULL OR " : "",
                               "trial IN (SELECT trial FROM attempt GROUP BY trial HAVING count(*) > 1) "
                               "ORDER BY trial")));
  std::vector<TrialRecord> trials;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return trials;
    TrialRecord& trial = trials.emplace_back();
    trial.trial = row.Int(0);
    trial.queued = TimeAt(row, 1);
    trial.alone_because = TextAt(row, 2);
    if (!row.IsNull(3)) LANISTA_RETURN_IF_ERROR(ParseAt(row, 3, &trial.plan));
  }
}

absl::StatusOr<std::map<int, std::vector<int>>> JournalReader::MembersOf(const std::vector<int>& trials) const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row,
                           database_.Prepare(absl::StrCat("SELECT trial, model FROM attempt WHERE trial IN (",
                                                          absl::StrJoin(trials, ","), ") ORDER BY model, attempt")));
  std::map<int, std::vector<int>> members;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return members;
    members[row.Int(0)].push_back(row.Int(1));
  }
}

absl::StatusOr<ModelRecord> JournalReader::FindModel(int model) const {
  std::optional<ModelRecord> found;
  LANISTA_RETURN_IF_ERROR(VisitModelsOf(std::vector<int>{model}, [&found](ModelRecord record) {
    found = std::move(record);
    return absl::OkStatus();
  }));
  if (found.has_value()) return *std::move(found);
  return absl::NotFoundError(absl::StrCat(experiment_.experiment(), " has no model ", model));
}

absl::Status JournalReader::VisitModelsOf(const OnlyModels& only,
                                          const std::function<absl::Status(ModelRecord)>& visit) const {
  return QueryModels(absl::StrCat(WhereModel(only), " ORDER BY model"), visit);
}

absl::Status JournalReader::VisitAttempts(const OnlyModels& only,
                                          const std::function<absl::Status(AttemptRecord)>& visit) const {
  return ReadAttempts(/*with_metrics=*/false, WhereModel(only), visit);
}

absl::Status JournalReader::VisitReports(const OnlyModels& only,
                                         const std::function<void(const ReportedValue&)>& visit) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat("SELECT model, attempt, sequence, step, time, name, value FROM metric ",
                                     WhereModel(only), only.has_value() ? " AND" : " WHERE",
                                     " step IS NOT NULL ORDER BY model, attempt, sequence, name")));
  ReportedValue report;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return absl::OkStatus();
    report.model = row.Int(0);
    report.attempt = row.Int(1);
    report.sequence = row.Int(2);
    report.step = row.Int(3);
    report.time = TimeAt(row, 4);
    report.name = TextAt(row, 5);
    report.value = ValueAt(row, 6);
    visit(report);
  }
}

absl::StatusOr<std::optional<int64_t>> JournalReader::LastNumber() const {
  if (version_ < kVersionWithFacts) return std::optional<int64_t>();
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare("SELECT ifnull(max(number), 0) FROM fact"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return std::optional<int64_t>(row.Int64(0));
}

absl::StatusOr<std::vector<int>> JournalReader::ModelsChangedAfter(int64_t number) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare("SELECT id FROM fact WHERE number > ?1 AND kind IN ('model', 'attempt_started', "
                        "'attempt_reported', 'attempt_ended', 'outcome', 'outcome_removed') "
                        "UNION SELECT model FROM attempt WHERE trial IN "
                        "(SELECT id FROM fact WHERE number > ?1 AND kind = 'trial') ORDER BY 1"));
  LANISTA_RETURN_IF_ERROR(row.Start(number));
  std::vector<int> models;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return models;
    models.push_back(row.Int(0));
  }
}

absl::StatusOr<std::vector<IntermediateRecord>> JournalReader::Intermediates() const { return QueryIntermediates(""); }

absl::StatusOr<std::vector<IntermediateRecord>> JournalReader::IntermediatesOf(const std::vector<int>& models) const {
  return QueryIntermediates(absl::StrCat("AND model IN (", absl::StrJoin(models, ","), ")"));
}

absl::StatusOr<std::vector<IntermediateRecord>> JournalReader::QueryIntermediates(const std::string& clauses) const {
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(
          absl::StrCat("SELECT model, attempt, sequence, time, step, name, value FROM metric WHERE step IS NOT NULL ",
                       clauses, " ORDER BY model, attempt, sequence")));
  std::vector<IntermediateRecord> records;
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) return records;
    const int model = row.Int(0), attempt = row.Int(1), sequence = row.Int(2);
    if (records.empty() || records.back().model != model || records.back().attempt != attempt ||
        records.back().sequence != sequence) {
      records.push_back({model, attempt, sequence, TimeAt(row, 3), {}});
      records.back().intermediate.set_step(row.Int(4));
    }
    (*records.back().intermediate.mutable_metrics()->mutable_values())[TextAt(row, 5)] = ValueAt(row, 6);
  }
}

}  // namespace lanista
