// Converts columns of a journal's rows to values, and has the clauses of queries; shared by the files that read
// journals.
#ifndef LANISTA_SRC_STORAGE_JOURNAL_ROWS_H_
#define LANISTA_SRC_STORAGE_JOURNAL_ROWS_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/base/utf8.h"
#include "src/storage/journal.h"
#include "src/storage/sqlite.h"

namespace lanista {

// The versions that brought the table `fact` with all that is numbered in it, the stopper's calls, requests of clients,
// the plans of trials, what models cost, and assignments and the places of weights.
inline constexpr int kVersionWithFacts = 3;
inline constexpr int kVersionWithStopping = 4;
inline constexpr int kVersionWithServed = 5;
inline constexpr int kVersionWithPlans = 6;
inline constexpr int kVersionWithCosts = 8;
inline constexpr int kVersionWithWeights = 9;

absl::Time TimeAt(const SqliteStatement& row, int column);
std::optional<absl::Time> OptionalTimeAt(const SqliteStatement& row, int column);

std::optional<int64_t> OptionalInt64At(const SqliteStatement& row, int column);

// SQLite stores NaN as NULL.
double ValueAt(const SqliteStatement& row, int column);

// The text, with bytes that are not UTF-8 replaced, so that it can always be shown. Older versions recorded such bytes.
std::string TextAt(const SqliteStatement& row, int column);

// DATA_LOSS: the bytes are not such a message.
template <typename Message>
absl::Status ParseAt(const SqliteStatement& row, int column, Message* message) {
  if (ParseMakingUtf8(row.Bytes(column), message)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the journal holds a damaged ", message->GetDescriptor()->name()));
}

// Enums are stored by name; a name that this program does not know reads as UNSPECIFIED.
v1::ModelEnded::Outcome OutcomeAt(const SqliteStatement& row, int column);
v1::ModelEnded::LostCause LostCauseAt(const SqliteStatement& row, int column);
v1::StateChanged StateAt(const SqliteStatement& row, int state_column, int reason_column);

// Reads the columns reason, message, signal and exit_status from `column` on; nullopt: there was no failure.
std::optional<v1::Failure> FailureAt(const SqliteStatement& row, int column);

// Reads metrics from JSON. DATA_LOSS: the text is not JSON.
absl::Status MetricsAt(const SqliteStatement& row, int column, v1::Metrics* metrics);

// The WHERE clause that restricts a query to these models; empty: it is about all.
std::string WhereModel(const JournalReader::OnlyModels& only);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_JOURNAL_ROWS_H_
