// JournalReader: rebuilds the events that watchers got from the recorded facts.
#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/storage/journal.h"
#include "src/storage/journal_rows.h"

namespace lanista {
namespace {

// The kinds of facts that are events.
constexpr absl::string_view kOwnKinds[] = {"experiment", "space", "state_change"};
constexpr absl::string_view kModelKinds[] = {"attempt_started", "model_built", "attempt_ended", "outcome"};
constexpr absl::string_view kReportKind = "attempt_reported";

template <size_t n>
bool IsOneOf(absl::string_view kind, const absl::string_view (&kinds)[n]) {
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

// For SQL: 'space', ...
template <size_t n>
std::string Quoted(const absl::string_view (&kinds)[n]) {
  return absl::StrCat("'", absl::StrJoin(kinds, "', '"), "'");
}

// One row of the table `fact`.
struct Fact {
  int64_t time = 0;
  std::string kind;
  int64_t id = 0;
  int attempt = 0;
  int sequence = 0;
};

// Looks up what facts are about.
class EventQuery {
 public:
  static absl::StatusOr<EventQuery> Prepare(const SqliteDatabase& database, int version) {
    EventQuery query;
    const std::string served = version < kVersionWithServed ? "0" : "served";
    const std::string stopped = version < kVersionWithStopping ? "0, ''" : "stopped_step, stopped_because";
    const std::string weights =
        version < kVersionWithWeights ? "'', outcome = 'SUCCEEDED'" : "assignment, left_weights";
    const std::pair<SqliteStatement*, std::string> all[] = {
        {&query.state_, absl::StrCat("SELECT state, reason, ", served, " FROM state_change WHERE number = ?")},
        {&query.attempt_,
         absl::StrCat("SELECT trial, device_proto, resumed_steps, outcome, actual_sample, models_memory, lost_cause, "
                      "reason, message, signal, exit_status, ",
                      weights, " FROM attempt WHERE model = ? AND attempt = ?")},
        {&query.costs_, version < kVersionWithCosts ? "SELECT NULL, NULL FROM model WHERE model = ?"
                                                    : "SELECT params, flops FROM model WHERE model = ?"},
        {&query.report_, "SELECT name, value, step FROM metric WHERE model = ? AND attempt = ? AND sequence = ?"},
        {&query.final_metrics_,
         "SELECT name, value, sequence FROM metric WHERE model = ? AND attempt = ? AND step IS NULL"},
        {&query.outcome_,
         absl::StrCat("SELECT outcome, attempt, metrics, reason, message, signal, exit_status, sample_proto, ", stopped,
                      " FROM outcome JOIN model USING (model) WHERE model = ? AND outcome.time = ?")},
    };
    for (const auto& [statement, sql] : all) {
      LANISTA_ASSIGN_OR_RETURN(*statement, database.Prepare(sql));
    }
    return query;
  }

  // Sets the event's kind, where it is neither the experiment's creation nor its space.
  absl::Status Fill(const Fact& fact, v1::ExperimentEvent* event) {
    if (fact.kind == "state_change") return FillState(fact, event->mutable_state());
    if (fact.kind == "outcome") return FillOutcome(fact, event->mutable_outcome());
    v1::ModelEvent* const model = event->mutable_model();
    model->set_experiment(event->experiment());
    *model->mutable_time() = event->time();
    return FillAttempt(fact, model);
  }

 private:
  // The one row that a statement finds.
  static absl::Status Find(SqliteStatement& row) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    return found ? absl::OkStatus() : absl::DataLossError("the journal lacks what one of its facts is about");
  }

  absl::Status FillState(const Fact& fact, v1::StateChanged* state) {
    LANISTA_RETURN_IF_ERROR(state_.Start(fact.id));
    LANISTA_RETURN_IF_ERROR(Find(state_));
    *state = StateAt(state_, 0, 1);
    state->set_served(state_.Int(2) != 0);
    return absl::OkStatus();
  }

  absl::Status FillOutcome(const Fact& fact, v1::ModelOutcome* outcome) {
    outcome->set_model(static_cast<int>(fact.id));
    // The outcome must have the time of the fact: a model that ran again has a later outcome, or none.
    LANISTA_RETURN_IF_ERROR(outcome_.Start(fact.id, fact.time));
    LANISTA_ASSIGN_OR_RETURN(const bool found, outcome_.Next());
    if (!found) {
      outcome->set_outcome(v1::ModelEnded::CANCELED);
      return absl::OkStatus();
    }
    outcome->set_outcome(OutcomeAt(outcome_, 0));
    outcome->set_attempt(outcome_.Int(1));
    LANISTA_RETURN_IF_ERROR(MetricsAt(outcome_, 2, outcome->mutable_metrics()));
    if (auto failure = FailureAt(outcome_, 3)) *outcome->mutable_failure() = *std::move(failure);
    LANISTA_RETURN_IF_ERROR(ParseAt(outcome_, 7, outcome->mutable_sample()));
    outcome->set_stopped_step(outcome_.Int(8));
    outcome->set_stopped_because(TextAt(outcome_, 9));
    return absl::OkStatus();
  }

  absl::Status FillAttempt(const Fact& fact, v1::ModelEvent* event) {
    event->set_model(static_cast<int>(fact.id));
    event->set_attempt(fact.attempt);
    event->set_sequence(fact.sequence);
    int& trial = trials_[{fact.id, fact.attempt}];
    const bool reported = fact.kind == kReportKind;
    if (trial == 0 || !reported) {
      LANISTA_RETURN_IF_ERROR(attempt_.Start(fact.id, fact.attempt));
      LANISTA_RETURN_IF_ERROR(Find(attempt_));
      trial = attempt_.Int(0);
    }
    event->set_trial(trial);
    if (reported) return FillReport(fact, event->mutable_intermediate());
    if (fact.kind == "attempt_ended") return FillEnd(fact, event);
    if (fact.kind == "model_built") return FillCosts(fact, event->mutable_built());
    event->mutable_started()->set_resumed_steps(attempt_.Int(2));
    event->mutable_started()->set_assignment(TextAt(attempt_, 11));
    return ParseAt(attempt_, 1, event->mutable_started()->mutable_device());
  }

  absl::Status FillReport(const Fact& fact, v1::Intermediate* report) {
    LANISTA_RETURN_IF_ERROR(report_.Start(fact.id, fact.attempt, fact.sequence));
    while (true) {
      LANISTA_ASSIGN_OR_RETURN(const bool found, report_.Next());
      if (!found) return absl::OkStatus();
      (*report->mutable_metrics()->mutable_values())[TextAt(report_, 0)] = ValueAt(report_, 1);
      report->set_step(report_.Int(2));
    }
  }

  absl::Status FillCosts(const Fact& fact, v1::ModelBuilt* built) {
    LANISTA_RETURN_IF_ERROR(costs_.Start(fact.id));
    LANISTA_RETURN_IF_ERROR(Find(costs_));
    built->set_params(costs_.Int64(0));
    if (!costs_.IsNull(1)) built->set_flops(costs_.Int64(1));
    return absl::OkStatus();
  }

  absl::Status FillEnd(const Fact& fact, v1::ModelEvent* event) {
    v1::ModelEnded& end = *event->mutable_ended();
    end.set_outcome(OutcomeAt(attempt_, 3));
    if (!attempt_.IsNull(4)) LANISTA_RETURN_IF_ERROR(ParseAt(attempt_, 4, end.mutable_actual_sample()));
    end.set_models_memory(attempt_.Int64(5));
    end.set_lost_cause(LostCauseAt(attempt_, 6));
    end.set_left_weights(attempt_.Int(12) != 0);
    if (auto failure = FailureAt(attempt_, 7)) *end.mutable_failure() = *std::move(failure);
    LANISTA_RETURN_IF_ERROR(final_metrics_.Start(fact.id, fact.attempt));
    while (true) {
      LANISTA_ASSIGN_OR_RETURN(const bool found, final_metrics_.Next());
      if (!found) return absl::OkStatus();
      (*end.mutable_metrics()->mutable_values())[TextAt(final_metrics_, 0)] = ValueAt(final_metrics_, 1);
      event->set_sequence(final_metrics_.Int(2));
    }
  }

  SqliteStatement state_, attempt_, costs_, report_, final_metrics_, outcome_;
  // The trials of attempts that were looked up, by model and attempt. Nearly all facts are reports, which need nothing
  // else of their attempt.
  std::map<std::pair<int64_t, int>, int> trials_;
};

}  // namespace

absl::Status JournalReader::CheckOrderOfFacts() const {
  if (version_ >= kVersionWithFacts) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("an older Lanista wrote the journal of ", experiment_.experiment(),
                                                    ", without the order of its facts; `resume` upgrades it"));
}

absl::StatusOr<JournalReader::NewFacts> JournalReader::FactsAfter(
    int64_t number, const std::function<bool(const NewFacts&)>& enough) const {
  LANISTA_RETURN_IF_ERROR(CheckOrderOfFacts());
  // Kinds are told apart here: SQLite takes several times as long to find each in a list.
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row,
                           database_.Prepare("SELECT number, kind, id FROM fact WHERE number > ? ORDER BY number"));
  LANISTA_RETURN_IF_ERROR(row.Start(number));
  NewFacts facts;
  while (!enough(facts)) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) break;
    const std::string kind = row.Bytes(1);
    const bool own = IsOneOf(kind, kOwnKinds);
    const bool of_model = IsOneOf(kind, kModelKinds);
    const bool report = kind == kReportKind;
    if (own || of_model || report) facts.last = row.Int64(0);
    facts.own += own ? 1 : 0;
    facts.of_models += of_model ? 1 : 0;
    facts.reports += report ? 1 : 0;
    if (kind == "trial") facts.trials.push_back(row.Int(2));
    if (of_model || report || kind == "model" || kind == "outcome_removed") facts.models.push_back(row.Int(2));
  }
  return facts;
}

absl::StatusOr<std::vector<int>> JournalReader::ChangedModels(NewFacts facts) const {
  std::vector<int> models = std::move(facts.models);
  // All of them: of a merged trial, one model may have begun and another have no fact of its own yet.
  if (!facts.trials.empty()) {
    LANISTA_ASSIGN_OR_RETURN(const auto members, MembersOf(facts.trials));
    for (const auto& [trial, of_trial] : members) models.insert(models.end(), of_trial.begin(), of_trial.end());
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  return models;
}

absl::StatusOr<std::vector<v1::ExperimentEvent>> JournalReader::EventsAfter(int64_t number, int limit,
                                                                            size_t max_bytes) const {
  return QueryEvents(number, absl::StrCat(Quoted(kOwnKinds), ", ", Quoted(kModelKinds), ", '", kReportKind, "'"), limit,
                     max_bytes);
}

absl::StatusOr<std::vector<v1::ExperimentEvent>> JournalReader::OwnEventsAfter(int64_t number) const {
  return QueryEvents(number, Quoted(kOwnKinds), std::numeric_limits<int>::max(), std::numeric_limits<size_t>::max());
}

absl::StatusOr<std::vector<v1::ExperimentEvent>> JournalReader::QueryEvents(int64_t number, const std::string& kinds,
                                                                            int limit, size_t max_bytes) const {
  LANISTA_RETURN_IF_ERROR(CheckOrderOfFacts());
  LANISTA_ASSIGN_OR_RETURN(EventQuery query, EventQuery::Prepare(database_, version_));
  LANISTA_ASSIGN_OR_RETURN(
      SqliteStatement row,
      database_.Prepare(absl::StrCat("SELECT number, time, kind, id, attempt, sequence FROM fact WHERE number > ? "
                                     "AND kind IN (",
                                     kinds, ") ORDER BY number LIMIT ?")));
  LANISTA_RETURN_IF_ERROR(row.Start(number, limit));
  std::vector<v1::ExperimentEvent> events;
  size_t bytes = 0;
  while (bytes < max_bytes) {
    LANISTA_ASSIGN_OR_RETURN(const bool found, row.Next());
    if (!found) break;
    v1::ExperimentEvent& event = events.emplace_back();
    event.set_experiment(experiment_.experiment());
    event.set_number(row.Int64(0));
    *event.mutable_time() = ToTimestamp(TimeAt(row, 1));
    const Fact fact{row.Int64(1), row.Bytes(2), row.Int64(3), row.Int(4), row.Int(5)};
    if (fact.kind == "experiment") {
      event.mutable_state()->set_state(v1::ExperimentState::CREATED);
      event.mutable_state()->set_served(experiment_.served());
    } else if (fact.kind == "space") {
      LANISTA_ASSIGN_OR_RETURN(std::optional<v1::SpaceSpec> space, Space());
      if (space.has_value()) *event.mutable_space() = *std::move(space);
    } else {
      LANISTA_RETURN_IF_ERROR(query.Fill(fact, &event));
    }
    bytes += event.ByteSizeLong();
  }
  return events;
}

}  // namespace lanista
