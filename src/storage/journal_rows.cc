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

double ValueAt(const SqliteStatement& row, int column) {
  return row.IsNull(column) ? std::numeric_limits<double>::quiet_NaN() : row.Double(column);
}

std::string TextAt(const SqliteStatement& row, int column) { return ToUtf8(row.Bytes(column)); }

v1::Outcome OutcomeAt(const SqliteStatement& row, int column) {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  v1::Outcome_Parse(row.Bytes(column), &outcome);
  return outcome;
}

v1::LostCause LostCauseAt(const SqliteStatement& row, int column) {
  v1::LostCause cause = v1::LOST_CAUSE_UNSPECIFIED;
  v1::LostCause_Parse(row.Bytes(column), &cause);
  return cause;
}

v1::StateChanged StateAt(const SqliteStatement& row, int state_column, int reason_column) {
  v1::StateChanged change;
  v1::ExperimentState state = v1::EXPERIMENT_STATE_UNSPECIFIED;
  v1::ExperimentState_Parse(row.Bytes(state_column), &state);
  change.set_state(state);
  change.set_reason(TextAt(row, reason_column));
  return change;
}

std::optional<v1::Failure> FailureAt(const SqliteStatement& row, int column) {
  if (row.IsNull(column)) return std::nullopt;
  v1::FailureReason reason = v1::FAILURE_REASON_UNSPECIFIED;
  v1::FailureReason_Parse(row.Bytes(column), &reason);
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
