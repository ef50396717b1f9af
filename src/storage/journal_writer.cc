#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/device_name.h"
#include "src/base/json_line.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/space/space.h"
#include "src/storage/journal.h"
#include "src/storage/schema.h"

namespace lanista {
namespace {

int64_t Microseconds(const google::protobuf::Timestamp& time) { return time.seconds() * 1000000 + time.nanos() / 1000; }

int64_t TimeOf(const v1::JournalRecord& record) {
  if (record.event().has_time()) return Microseconds(record.event().time());
  return record.has_time() ? Microseconds(record.time()) : absl::ToUnixMicros(absl::Now());
}

// {"name": value, ...}. NaN becomes null, because JSON has no NaN.
std::string ToJson(const v1::Metrics& metrics) {
  return JsonLine(nlohmann::json(std::map<std::string, double>(metrics.values().begin(), metrics.values().end())));
}

std::optional<double> DefaultOf(const v1::Metrics& metrics) {
  const auto found = metrics.values().find(kDefaultMetric);
  if (found == metrics.values().end()) return std::nullopt;
  return found->second;
}

// The columns of a failure; all are NULL if there is none.
struct FailureColumns {
  explicit FailureColumns(bool failed, const v1::Failure& failure) {
    if (!failed) return;
    reason = v1::Failure::Reason_Name(failure.reason());
    message = failure.message();
    signal = failure.signal();
    exit_status = failure.exit_status();
  }

  std::optional<std::string> reason;
  std::optional<std::string> message;
  std::optional<int> signal;
  std::optional<int> exit_status;
};

// Describes a record for error messages.
std::string Describe(const v1::JournalRecord& record) {
  switch (record.kind_case()) {
    case v1::JournalRecord::kCreated:
      return "the experiment";
    case v1::JournalRecord::kDiscovered:
      return "the space";
    case v1::JournalRecord::kConfig:
      return "a change of the configuration";
    case v1::JournalRecord::kReopened:
      return absl::StrCat("that model ", record.reopened().model(), " runs again");
    case v1::JournalRecord::kState:
      return "a change of state";
    case v1::JournalRecord::kStrategyCall:
      return absl::StrCat("call ", record.strategy_call().sequence(), " of the strategy");
    case v1::JournalRecord::kStoppingCall:
      return absl::StrCat("call ", record.stopping_call().sequence(), " of the stopper");
    case v1::JournalRecord::kModel:
      return absl::StrCat("model ", record.model().model());
    case v1::JournalRecord::kTrial:
      return absl::StrCat("trial ", record.trial().trial());
    case v1::JournalRecord::kEvent:
      return absl::StrCat("an event of model ", record.event().model(), ", attempt ", record.event().attempt());
    case v1::JournalRecord::kOutcome:
      return absl::StrCat("the outcome of model ", record.outcome().model());
    case v1::JournalRecord::KIND_NOT_SET:
      break;
  }
  return "an empty record";
}

// JournalReader::Weights. The reader's lock is gone then: where the journal has no WAL it would stop every writer.
absl::StatusOr<std::map<int, std::string>> FindWeightsIn(const std::string& folder) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  return reader.Weights();
}

}  // namespace

// The prepared statements, and the records that they write.
class JournalWriter::Statements {
 public:
  static absl::StatusOr<std::unique_ptr<Statements>> Prepare(const SqliteDatabase& database);

  absl::Status Begin() { return begin_.Run(); }
  absl::Status Commit() { return commit_.Run(); }
  absl::Status Rollback() { return rollback_.Run(); }

  // Writes a record as the fact with this number.
  absl::Status Write(int64_t number, const v1::JournalRecord& record);

  absl::StatusOr<int64_t> LastNumber();

 private:
  // The kind and subject of a fact, as the table `fact` has them.
  struct FactKey {
    explicit FactKey(absl::string_view fact_kind, int64_t fact_id = 1) : kind(fact_kind), id(fact_id) {}

    absl::string_view kind;
    int64_t id;
    std::optional<int> attempt;
    std::optional<int> sequence;
  };

  absl::Status WriteCreated(int64_t time, const v1::ExperimentCreated& created);
  absl::Status WriteDiscovered(int64_t time, const v1::Discovered& discovered);
  // Writes a record into the table of its kind; nullopt: the record was there already.
  absl::StatusOr<std::optional<FactKey>> WriteRecord(int64_t time, const v1::JournalRecord& record);
  explicit Statements(const SqliteDatabase& database) : database_(database) {}

  absl::Status WriteStoppingCall(int64_t time, const v1::StoppingCall& call);
  absl::Status WriteTrial(int64_t time, const v1::TrialQueued& trial);
  absl::StatusOr<std::optional<FactKey>> WriteEvent(int64_t time, const v1::ModelEvent& event);
  absl::Status WriteEnd(int64_t time, const v1::ModelEvent& event);
  absl::Status WriteMetrics(int64_t time, const v1::ModelEvent& event, std::optional<int> step,
                            const v1::Metrics& metrics);
  absl::Status WriteOutcome(int64_t time, const v1::ModelOutcome& outcome);
  absl::Status WriteWeights(int model, const v1::WeightsKept& weights);
  // Called if an UPDATE changed no row. Returns an error if there is no such attempt.
  absl::Status CheckAttempt(const v1::ModelEvent& event);

  const SqliteDatabase& database_;
  SqliteStatement begin_, commit_, rollback_;
  SqliteStatement insert_experiment_, insert_space_, insert_state_, insert_call_, insert_stopping_call_, insert_model_,
      insert_trial_, insert_attempt_, start_attempt_, build_model_, end_attempt_, select_attempt_, insert_metric_,
      insert_outcome_, delete_outcome_, insert_weights_, delete_weights_, select_sample_, update_sample_,
      insert_config_, insert_fact_, last_number_;
};

absl::StatusOr<std::unique_ptr<JournalWriter::Statements>> JournalWriter::Statements::Prepare(
    const SqliteDatabase& database) {
  std::unique_ptr<Statements> statements(new Statements(database));
  Statements& s = *statements;
  const std::pair<SqliteStatement*, const char*> all[] = {
      {&s.begin_, "BEGIN IMMEDIATE"},
      {&s.commit_, "COMMIT"},
      {&s.rollback_, "ROLLBACK"},
      {&s.insert_experiment_, "INSERT INTO experiment VALUES (1, ?, ?, ?, ?, ?, ?, ?)"},
      {&s.insert_space_, "INSERT INTO space VALUES (1, ?, ?, ?, ?, ?)"},
      {&s.insert_state_, "INSERT INTO state_change (time, state, reason, served) VALUES (?, ?, ?, ?)"},
      {&s.insert_call_, "INSERT INTO strategy_call VALUES (?, ?, ?)"},
      {&s.insert_stopping_call_, "INSERT INTO stopping_call VALUES (?, ?, ?, ?, ?, ?, ?, ?)"},
      {&s.insert_model_, "INSERT INTO model (model, time, sample, sample_proto) VALUES (?, ?, ?, ?)"},
      {&s.insert_trial_, "INSERT INTO trial VALUES (?, ?, ?, ?)"},
      {&s.insert_attempt_, "INSERT INTO attempt (model, attempt, trial) VALUES (?, ?, ?)"},
      {&s.start_attempt_,
       "UPDATE attempt SET started = ?3, node = ?4, device = ?5, device_proto = ?6, resumed_steps = ?7, "
       "assignment = ?8 WHERE model = ?1 AND attempt = ?2 AND started IS NULL"},
      {&s.build_model_,
       "UPDATE model SET params = ?3, flops = ?4 WHERE model = ?1 AND params IS NULL "
       "AND EXISTS (SELECT 1 FROM attempt WHERE model = ?1 AND attempt = ?2)"},
      {&s.end_attempt_,
       "UPDATE attempt SET ended = ?3, outcome = ?4, reason = ?5, message = ?6, signal = ?7, exit_status = ?8, "
       "actual_sample = ?9, models_memory = ?10, lost_cause = ?11, left_weights = ?12 "
       "WHERE model = ?1 AND attempt = ?2 AND ended IS NULL"},
      {&s.select_attempt_, "SELECT 1 FROM attempt WHERE model = ? AND attempt = ?"},
      {&s.insert_metric_, "INSERT OR IGNORE INTO metric VALUES (?, ?, ?, ?, ?, ?, ?)"},
      {&s.insert_outcome_, "INSERT INTO outcome VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"},
      {&s.delete_outcome_, "DELETE FROM outcome WHERE model = ?"},
      {&s.insert_weights_, "INSERT INTO weights VALUES (?, ?)"},
      {&s.delete_weights_, "DELETE FROM weights WHERE model = ?"},
      {&s.insert_config_, "INSERT INTO config_change (time, config) VALUES (?, ?)"},
      {&s.insert_fact_, "INSERT INTO fact VALUES (?, ?, ?, ?, ?, ?)"},
      {&s.last_number_, "SELECT ifnull(max(number), 0) FROM fact"},
      {&s.select_sample_, "SELECT 1 FROM model WHERE model = ? AND sample_proto = ?"},
      {&s.update_sample_, "UPDATE model SET sample = ?2, sample_proto = ?3 WHERE model = ?1"},
  };
  for (const auto& [statement, sql] : all) {
    LANISTA_ASSIGN_OR_RETURN(*statement, database.Prepare(sql));
  }
  return statements;
}

absl::StatusOr<int64_t> JournalWriter::Statements::LastNumber() {
  LANISTA_RETURN_IF_ERROR(last_number_.Start());
  LANISTA_RETURN_IF_ERROR(last_number_.Next().status());
  const int64_t number = last_number_.Int64(0);
  LANISTA_RETURN_IF_ERROR(last_number_.Next().status());
  return number;
}

absl::Status JournalWriter::Statements::Write(int64_t number, const v1::JournalRecord& record) {
  const int64_t time = TimeOf(record);
  LANISTA_ASSIGN_OR_RETURN(const std::optional<FactKey> key, WriteRecord(time, record));
  if (!key.has_value()) return absl::OkStatus();
  return insert_fact_.Run(number, time, key->kind, key->id, key->attempt, key->sequence);
}

absl::StatusOr<std::optional<JournalWriter::Statements::FactKey>> JournalWriter::Statements::WriteRecord(
    int64_t time, const v1::JournalRecord& record) {
  switch (record.kind_case()) {
    case v1::JournalRecord::kCreated:
      LANISTA_RETURN_IF_ERROR(WriteCreated(time, record.created()));
      return FactKey("experiment");
    case v1::JournalRecord::kDiscovered:
      LANISTA_RETURN_IF_ERROR(WriteDiscovered(time, record.discovered()));
      return FactKey("space");
    case v1::JournalRecord::kConfig: {
      const std::string config = record.config().config().SerializeAsString();
      LANISTA_RETURN_IF_ERROR(insert_config_.Run(time, SqliteBlob{config}));
      return FactKey("config_change", database_.last_row());
    }
    case v1::JournalRecord::kState:
      LANISTA_RETURN_IF_ERROR(insert_state_.Run(time, v1::ExperimentState::State_Name(record.state().state()),
                                                record.state().reason(), record.state().served()));
      return FactKey("state_change", database_.last_row());
    case v1::JournalRecord::kStrategyCall: {
      const std::string call = record.strategy_call().SerializeAsString();
      LANISTA_RETURN_IF_ERROR(insert_call_.Run(record.strategy_call().sequence(), time, SqliteBlob{call}));
      return FactKey("strategy_call", record.strategy_call().sequence());
    }
    case v1::JournalRecord::kStoppingCall:
      LANISTA_RETURN_IF_ERROR(WriteStoppingCall(time, record.stopping_call()));
      return FactKey("stopping_call", record.stopping_call().sequence());
    case v1::JournalRecord::kModel: {
      const v1::Sample& sample = record.model().sample();
      const std::string json = Space::ToJson(sample), bytes = sample.SerializeAsString();
      LANISTA_RETURN_IF_ERROR(insert_model_.Run(record.model().model(), time, json, SqliteBlob{bytes}));
      return FactKey("model", record.model().model());
    }
    case v1::JournalRecord::kTrial:
      LANISTA_RETURN_IF_ERROR(WriteTrial(time, record.trial()));
      return FactKey("trial", record.trial().trial());
    case v1::JournalRecord::kEvent:
      return WriteEvent(time, record.event());
    case v1::JournalRecord::kOutcome:
      LANISTA_RETURN_IF_ERROR(WriteOutcome(time, record.outcome()));
      if (record.has_weights()) LANISTA_RETURN_IF_ERROR(WriteWeights(record.outcome().model(), record.weights()));
      return FactKey("outcome", record.outcome().model());
    case v1::JournalRecord::kReopened:
      LANISTA_RETURN_IF_ERROR(delete_outcome_.Run(record.reopened().model()));
      if (database_.changes() == 0) return absl::FailedPreconditionError("it has no outcome");
      return FactKey("outcome_removed", record.reopened().model());
    case v1::JournalRecord::KIND_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the record says nothing");
}

absl::Status JournalWriter::Statements::WriteCreated(int64_t time, const v1::ExperimentCreated& created) {
  const v1::ExperimentConfig& config = created.config();
  const std::string& name = !config.name().empty()                 ? config.name()
                            : !config.space().registered().empty() ? config.space().registered()
                                                                   : created.experiment();
  const std::string bytes = config.SerializeAsString();
  return insert_experiment_.Run(created.experiment(), name, time, int64_t{created.seed()}, SqliteBlob{bytes},
                                created.request_id(), created.served());
}

absl::Status JournalWriter::Statements::WriteDiscovered(int64_t time, const v1::Discovered& discovered) {
  const std::string spec = discovered.space().SerializeAsString();
  return insert_space_.Run(time, discovered.space().fingerprint(), SqliteBlob{spec}, discovered.program(),
                           discovered.multi_model_evaluator());
}

absl::Status JournalWriter::Statements::WriteStoppingCall(int64_t time, const v1::StoppingCall& call) {
  if (call.has_ended()) {
    const v1::TellRequest& ended = call.ended();
    const auto value = ended.has_value() ? std::make_optional(double{ended.value()}) : std::nullopt;
    return insert_stopping_call_.Run(call.sequence(), time, ended.model(), ended.steps(), value, nullptr, nullptr,
                                     v1::ModelEnded::Outcome_Name(ended.outcome()));
  }
  const v1::StepReport& report = call.report().report();
  const v1::StopVerdict& verdict = call.report().verdict();
  const auto because = verdict.stop() ? std::make_optional(verdict.because()) : std::nullopt;
  return insert_stopping_call_.Run(call.sequence(), time, report.model(), report.step(), report.value(), verdict.stop(),
                                   because, nullptr);
}

absl::Status JournalWriter::Statements::WriteTrial(int64_t time, const v1::TrialQueued& trial) {
  const std::string plan = trial.plan().SerializeAsString();
  LANISTA_RETURN_IF_ERROR(insert_trial_.Run(trial.trial(), time, trial.alone_because(),
                                            trial.has_plan() ? std::make_optional(SqliteBlob{plan}) : std::nullopt));
  for (const v1::TrialMember& member : trial.members()) {
    LANISTA_RETURN_IF_ERROR(insert_attempt_.Run(member.model(), member.attempt(), trial.trial()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<JournalWriter::Statements::FactKey>> JournalWriter::Statements::WriteEvent(
    int64_t time, const v1::ModelEvent& event) {
  FactKey key("", event.model());
  key.attempt = event.attempt();
  switch (event.kind_case()) {
    case v1::ModelEvent::kStarted: {
      key.kind = "attempt_started";
      const v1::Device& device = event.started().device();
      const std::string name = DeviceName(device), bytes = device.SerializeAsString();
      const std::string& id = event.started().assignment();
      const auto assignment = id.empty() ? std::nullopt : std::make_optional(id);
      LANISTA_RETURN_IF_ERROR(start_attempt_.Run(event.model(), event.attempt(), time, device.node(), name,
                                                 SqliteBlob{bytes}, event.started().resumed_steps(), assignment));
      break;
    }
    case v1::ModelEvent::kBuilt: {
      key.kind = "model_built";
      const v1::ModelBuilt& built = event.built();
      const auto flops = built.has_flops() ? std::make_optional(int64_t{built.flops()}) : std::nullopt;
      LANISTA_RETURN_IF_ERROR(build_model_.Run(event.model(), event.attempt(), int64_t{built.params()}, flops));
      break;
    }
    case v1::ModelEvent::kIntermediate:
      key.kind = "attempt_reported";
      key.sequence = event.sequence();
      LANISTA_RETURN_IF_ERROR(WriteMetrics(time, event, event.intermediate().step(), event.intermediate().metrics()));
      if (event.intermediate().metrics().values().empty() || database_.changes() == 0) return std::nullopt;
      return key;
    case v1::ModelEvent::kEnded:
      key.kind = "attempt_ended";
      LANISTA_RETURN_IF_ERROR(WriteEnd(time, event));
      break;
    case v1::ModelEvent::KIND_NOT_SET:
      return absl::InvalidArgumentError("the event says nothing");
  }
  if (database_.changes() > 0) {
    // Metrics are written with the first end only: a second one (of an attempt that had been given up) changes nothing.
    if (event.has_ended()) LANISTA_RETURN_IF_ERROR(WriteMetrics(time, event, std::nullopt, event.ended().metrics()));
    return key;
  }
  LANISTA_RETURN_IF_ERROR(CheckAttempt(event));
  return std::nullopt;
}

absl::Status JournalWriter::Statements::WriteEnd(int64_t time, const v1::ModelEvent& event) {
  const v1::ModelEnded& end = event.ended();
  const FailureColumns failure(end.has_failure(), end.failure());
  const std::string sample = end.actual_sample().SerializeAsString();
  const auto actual = end.has_actual_sample() ? std::make_optional(SqliteBlob{sample}) : std::nullopt;
  const auto memory = end.models_memory() > 0 ? std::make_optional(int64_t{end.models_memory()}) : std::nullopt;
  const auto cause = end.outcome() == v1::ModelEnded::LOST
                         ? std::make_optional(v1::ModelEnded::LostCause_Name(end.lost_cause()))
                         : std::nullopt;
  return end_attempt_.Run(event.model(), event.attempt(), time, v1::ModelEnded::Outcome_Name(end.outcome()),
                          failure.reason, failure.message, failure.signal, failure.exit_status, actual, memory, cause,
                          end.left_weights());
}

absl::Status JournalWriter::Statements::WriteMetrics(int64_t time, const v1::ModelEvent& event, std::optional<int> step,
                                                     const v1::Metrics& metrics) {
  if (event.sequence() < 1 && !metrics.values().empty()) {
    return absl::InvalidArgumentError("events with metrics must carry their sequence number");
  }
  for (const auto& [name, value] : metrics.values()) {
    LANISTA_RETURN_IF_ERROR(
        insert_metric_.Run(event.model(), event.attempt(), event.sequence(), name, step, value, time));
  }
  return absl::OkStatus();
}

absl::Status JournalWriter::Statements::CheckAttempt(const v1::ModelEvent& event) {
  LANISTA_RETURN_IF_ERROR(select_attempt_.Start(event.model(), event.attempt()));
  LANISTA_ASSIGN_OR_RETURN(const bool known, select_attempt_.Next());
  if (!known) return absl::FailedPreconditionError("no trial was recorded for this attempt");
  return select_attempt_.Next().status();
}

absl::Status JournalWriter::Statements::WriteOutcome(int64_t time, const v1::ModelOutcome& outcome) {
  const FailureColumns failure(outcome.has_failure(), outcome.failure());
  const std::string metrics = ToJson(outcome.metrics());
  const bool stopped = outcome.outcome() == v1::ModelEnded::STOPPED_EARLY;
  const auto step = stopped ? std::make_optional(int{outcome.stopped_step()}) : std::nullopt;
  const auto because = stopped ? std::make_optional(outcome.stopped_because()) : std::nullopt;
  LANISTA_RETURN_IF_ERROR(insert_outcome_.Run(outcome.model(), time, outcome.attempt(),
                                              v1::ModelEnded::Outcome_Name(outcome.outcome()),
                                              DefaultOf(outcome.metrics()), metrics, failure.reason, failure.message,
                                              failure.signal, failure.exit_status, step, because));
  if (!outcome.has_sample()) return absl::OkStatus();
  // Usually this is the proposed sample. A model may have asked for further choices.
  const std::string bytes = outcome.sample().SerializeAsString();
  LANISTA_RETURN_IF_ERROR(select_sample_.Start(outcome.model(), SqliteBlob{bytes}));
  LANISTA_ASSIGN_OR_RETURN(const bool same, select_sample_.Next());
  if (same) return select_sample_.Next().status();
  const std::string json = Space::ToJson(outcome.sample());
  return update_sample_.Run(outcome.model(), json, SqliteBlob{bytes});
}

absl::Status JournalWriter::Statements::WriteWeights(int model, const v1::WeightsKept& weights) {
  LANISTA_RETURN_IF_ERROR(insert_weights_.Run(model, weights.folder()));
  return weights.instead_of() == 0 ? absl::OkStatus() : delete_weights_.Run(weights.instead_of());
}

JournalWriter::JournalWriter() = default;
JournalWriter::~JournalWriter() = default;

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Create(const std::string& folder,
                                                                     const v1::ExperimentCreated& created,
                                                                     const JournalOptions& options) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make the experiment's folder ", folder));
  const std::string file = JournalFile(folder);
  const bool was_there = std::filesystem::exists(file, error);
  LANISTA_ASSIGN_OR_RETURN(SqliteDatabase database,
                           SqliteDatabase::Open(file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  // A database without tables was left by a process that was killed before it recorded anything.
  if (was_there) {
    absl::StatusOr<SqliteStatement> tables = database.Prepare("SELECT 1 FROM sqlite_master");
    const absl::StatusOr<bool> found = tables.ok() ? tables->Next() : absl::StatusOr<bool>(tables.status());
    if (!found.ok() || *found) return absl::AlreadyExistsError(absl::StrCat(file, ": already there"));
  }
  return Start(std::move(database), folder, options, &created);
}

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Open(const std::string& folder,
                                                                   const JournalOptions& options) {
  const std::string file = JournalFile(folder);
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    return absl::NotFoundError(absl::StrCat("there is no journal in ", folder));
  }
  LANISTA_ASSIGN_OR_RETURN(SqliteDatabase database, SqliteDatabase::Open(file, SQLITE_OPEN_READWRITE));
  LANISTA_ASSIGN_OR_RETURN(const int version, CheckSchema(database, file));
  if (version < kJournalVersion) {
    LANISTA_ASSIGN_OR_RETURN(const auto weights, FindWeightsIn(folder));
    LANISTA_RETURN_IF_ERROR(UpgradeSchema(database, weights));
  }
  return Start(std::move(database), folder, options, nullptr);
}

absl::StatusOr<std::unique_ptr<JournalWriter>> JournalWriter::Start(SqliteDatabase database, const std::string& folder,
                                                                    const JournalOptions& options,
                                                                    const v1::ExperimentCreated* created) {
  std::unique_ptr<JournalWriter> writer(new JournalWriter);
  writer->database_ = std::move(database);
  SqliteDatabase& db = writer->database_;
  LANISTA_RETURN_IF_ERROR(db.Execute(absl::StrCat(
      "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON; PRAGMA synchronous = ", options.durable ? "FULL" : "NORMAL",
      ";")));
  // The tables and the experiment appear together: a reader sees a whole journal or none.
  if (created != nullptr) {
    LANISTA_RETURN_IF_ERROR(db.Execute("BEGIN IMMEDIATE"));
    LANISTA_RETURN_IF_ERROR(CreateSchema(db));
  }
  LANISTA_ASSIGN_OR_RETURN(writer->statements_, Statements::Prepare(db));
  if (created != nullptr) {
    v1::JournalRecord record;
    *record.mutable_created() = *created;
    LANISTA_RETURN_IF_ERROR(writer->statements_->Write(writer->next_number_, record));
    LANISTA_RETURN_IF_ERROR(writer->statements_->Commit());
  }
  LANISTA_ASSIGN_OR_RETURN(const int64_t last_number, writer->statements_->LastNumber());
  writer->next_number_ = last_number + 1;
  const std::string file = JournalFile(folder);
  for (const char* suffix : {"", "-wal", "-shm"}) {
    absl::StatusOr<NamedFile> named = NamedFile::At(file + suffix);
    // File systems without shared memory have no WAL: SQLite then writes into the database at once.
    if (absl::IsNotFound(named.status()) && *suffix != '\0') continue;
    if (!named.ok()) return named.status();
    writer->files_.push_back(*std::move(named));
  }
  LANISTA_ASSIGN_OR_RETURN(writer->last_words_, LastWords::Reserve(folder));
  return writer;
}

absl::StatusOr<int64_t> JournalWriter::Write(const v1::JournalBatch& batch) {
  LANISTA_RETURN_IF_ERROR(statements_->Begin());
  absl::Status status;
  int64_t number = next_number_;
  for (const v1::JournalRecord& record : batch.records()) {
    status = statements_->Write(number++, record);
    if (!status.ok()) {
      status = Annotate(status, absl::StrCat("cannot record ", Describe(record)));
      break;
    }
  }
  if (status.ok()) status = statements_->Commit();
  // SQLite has rolled back by itself after some errors.
  if (!status.ok() && database_.in_transaction()) (void)statements_->Rollback();
  // Checked last, so that nothing is acknowledged that was written to a deleted file.
  for (size_t i = 0; status.ok() && i < files_.size(); ++i) status = files_[i].Check();
  if (!status.ok()) return status;
  return std::exchange(next_number_, number);
}

absl::Status JournalWriter::Abandon(const std::string& reason) {
  v1::JournalBatch batch;
  v1::StateChanged& state = *batch.add_records()->mutable_state();
  state.set_state(v1::ExperimentState::FAILED);
  state.set_reason(reason);
  const absl::Status written = Write(batch).status();
  statements_.reset();
  database_ = SqliteDatabase();
  return written.ok() ? written : last_words_->Write(absl::Now(), reason);
}

}  // namespace lanista
