// JournalReader: how a journal is opened, and what it says of the experiment itself: its states, space, calls and the
// numbers of its facts.
#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "src/base/status.h"
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
  record.change.set_state(v1::ExperimentState::CREATED);
  if (found) record = {TimeAt(row, 0), StateAt(row, 1, 2)};
  if (!last_words_.has_value() || last_words_->time < record.time) return record;
  record.time = last_words_->time;
  record.change.set_state(v1::ExperimentState::FAILED);
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

bool IsFinal(v1::ExperimentState::State state) {
  return state == v1::ExperimentState::DONE || state == v1::ExperimentState::STOPPED ||
         state == v1::ExperimentState::FAILED;
}

absl::StatusOr<absl::Duration> JournalReader::TimeIn(const std::vector<v1::ExperimentState::State>& states,
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

absl::StatusOr<std::optional<int64_t>> JournalReader::LastNumber() const {
  if (version_ < kVersionWithFacts) return std::optional<int64_t>();
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement row, database_.Prepare("SELECT ifnull(max(number), 0) FROM fact"));
  LANISTA_RETURN_IF_ERROR(row.Next().status());
  return std::optional<int64_t>(row.Int64(0));
}

}  // namespace lanista
