// JournalReader: attempts, their trials, and what they reported.
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/storage/journal.h"
#include "src/storage/journal_rows.h"

namespace lanista {

absl::StatusOr<std::vector<AttemptRecord>> JournalReader::Attempts() const { return QueryAttempts(""); }

absl::StatusOr<std::vector<AttemptRecord>> JournalReader::AttemptsOf(const std::vector<int>& models) const {
  return QueryAttempts(absl::StrCat("WHERE a.model IN (", absl::StrJoin(models, ","), ")"));
}

absl::Status JournalReader::VisitAttempts(const OnlyModels& only,
                                          const std::function<absl::Status(AttemptRecord)>& visit) const {
  return ReadAttempts(/*with_metrics=*/false, WhereModel(only), visit);
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
      database_.Prepare(absl::StrCat(
          R"sql(
      SELECT a.model, a.attempt, a.trial, t.time, a.started, a.device_proto, a.ended, a.outcome,
             a.reason, a.message, a.signal, a.exit_status, a.actual_sample, t.alone_because, a.models_memory, )sql",
          with_metrics ? "m.name, m.value, s.members, " : "NULL, NULL, 1, ",
          version_ < kVersionWithFacts ? "NULL, 0" : "lost_cause, resumed_steps",
          version_ < kVersionWithWeights ? ", '', outcome = 'SUCCEEDED'" : ", assignment, left_weights",
          " FROM attempt AS a JOIN trial AS t USING (trial) ", joined, clauses, " ORDER BY a.model, a.attempt")));
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
      attempt->assignment = TextAt(row, 20);
      attempt->end.set_left_weights(row.Int(21) != 0);
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

absl::StatusOr<int> JournalReader::LastTrial() const {
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare("SELECT ifnull(max(trial), 0) FROM trial"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return row.Int(0);
}

absl::StatusOr<std::vector<IntermediateRecord>> JournalReader::Intermediates() const { return QueryIntermediates(""); }

absl::StatusOr<std::vector<IntermediateRecord>> JournalReader::IntermediatesOf(const std::vector<int>& models) const {
  return QueryIntermediates(absl::StrCat("AND model IN (", absl::StrJoin(models, ","), ")"));
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
