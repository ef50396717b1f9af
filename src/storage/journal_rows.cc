#include "src/storage/journal_rows.h"

#include <limits>

#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"

namespace lanista {

absl::Time TimeAt(const SqliteStatement& row, int column) { return absl::FromUnixMicros(row.Int64(column)); }

std::optional<absl::Time> OptionalTimeAt(const SqliteStatement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return TimeAt(row, column);
}

std::optional<int64_t> OptionalInt64At(const SqliteStatement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  return row.Int64(column);
}

double ValueAt(const SqliteStatement& row, int column) {
  return row.IsNull(column) ? std::numeric_limits<double>::quiet_NaN() : row.Double(column);
}

std::string TextAt(const SqliteStatement& row, int column) { return ToUtf8(row.Bytes(column)); }

v1::ModelEnded::Outcome OutcomeAt(const SqliteStatement& row, int column) {
  v1::ModelEnded::Outcome outcome = v1::ModelEnded::OUTCOME_UNSPECIFIED;
  v1::ModelEnded::Outcome_Parse(row.Bytes(column), &outcome);
  return outcome;
}

v1::ModelEnded::LostCause LostCauseAt(const SqliteStatement& row, int column) {
  v1::ModelEnded::LostCause cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED;
  v1::ModelEnded::LostCause_Parse(row.Bytes(column), &cause);
  return cause;
}

v1::StateChanged StateAt(const SqliteStatement& row, int state_column, int reason_column) {
  v1::StateChanged change;
  v1::ExperimentState::State state = v1::ExperimentState::STATE_UNSPECIFIED;
  const std::string name = row.Bytes(state_column);
  // As versions before 7 call it.
  v1::ExperimentState::State_Parse(name == "EXPERIMENT_FAILED" ? "FAILED" : name, &state);
  change.set_state(state);
  change.set_reason(TextAt(row, reason_column));
  return change;
}

std::optional<v1::Failure> FailureAt(const SqliteStatement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  v1::Failure::Reason reason = v1::Failure::REASON_UNSPECIFIED;
  v1::Failure::Reason_Parse(row.Bytes(column), &reason);
  v1::Failure failure;
  failure.set_reason(reason);
  failure.set_message(TextAt(row, column + 1));
  failure.set_signal(row.Int(column + 2));
  failure.set_exit_status(row.Int(column + 3));
  return failure;
}

absl::Status MetricsAt(const SqliteStatement& row, int column, v1::Metrics* metrics) {
  const nlohmann::json document = nlohmann::json::parse(TextAt(row, column), nullptr, false);
  if (!document.is_object()) return absl::DataLossError("the journal holds damaged metrics");
  for (const auto& [name, value] : document.items()) {
    (*metrics->mutable_values())[name] =
        value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
  }
  return absl::OkStatus();
}

std::string WhereModel(const JournalReader::OnlyModels& only) {
  return only.has_value() ? absl::StrCat("WHERE model IN (", absl::StrJoin(*only, ","), ")") : "";
}

}  // namespace lanista
