// The journal of an experiment: every fact, written before anyone acts on it. An SQLite database (WAL), so that other
// processes, and people with `sqlite3 journal.db`, read while one writes.
//
// One process writes, under the experiment's lock. A writer, and each reader, belongs to one thread at a time. Nothing
// else may open the database file: closing a file drops the locks that SQLite holds on it in this process.
#ifndef LANISTA_SRC_STORAGE_JOURNAL_H_
#define LANISTA_SRC_STORAGE_JOURNAL_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/goals/ranking.h"
#include "src/storage/last_words.h"
#include "src/storage/named_file.h"
#include "src/storage/sqlite.h"

namespace lanista {

// The version of the schema (PRAGMA user_version); counts up with every change that an older program would misread.
inline constexpr int kJournalVersion = 5;
// Older journals are read as they are, and upgraded by the first writer.
inline constexpr int kOldestJournalVersion = 2;

// A device as LibTorch names it: "cpu:0", "cuda:1".
std::string DeviceName(const v1::Device& device);

struct JournalOptions {
  // Also survive power loss, up to the last batch: each one waits for the disk. Without it every batch survives the
  // death of any process, and power loss all but the last moments.
  bool durable = false;
};

// Writes facts.
class JournalWriter {
 public:
  // Starts a journal in `folder`, which is made if needed. ALREADY_EXISTS if there is one.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Create(const std::string& folder,
                                                               const v1::ExperimentCreated& created,
                                                               const JournalOptions& options = {});

  // Goes on with a journal; one of an older version is upgraded. NOT_FOUND; FAILED_PRECONDITION if a newer Lanista
  // wrote it; DATA_LOSS if it is not one.
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Open(const std::string& folder,
                                                             const JournalOptions& options = {});

  ~JournalWriter();

  // Writes all records, or (after an error) none; when it returns OK they survive this process. Returns the number of
  // the first one: facts of all kinds are counted together, from 1 (the experiment itself), and those of a batch have
  // consecutive numbers. A record without a time gets the current one. Events are known by (model, attempt, sequence):
  // one that comes twice is written once (its second number stays unused), and the first start and the first end of an
  // attempt stand.
  //
  // ALREADY_EXISTS: a second outcome of a model, a model, trial, attempt or call (of strategy or stopper) that is
  // there.
  // FAILED_PRECONDITION: an event of an attempt, or an outcome of a model, that the journal has never heard of.
  // RESOURCE_EXHAUSTED: the disk is full. UNAVAILABLE: it cannot be written now. After these two the journal is as it
  // was and Write may be called again.
  // DATA_LOSS: the journal was deleted, moved or replaced, or is damaged: nobody will read what is written to it.
  absl::StatusOr<int64_t> Write(const v1::JournalBatch& batch);

  // For a journal that cannot be written any more: records that the experiment has failed, and why, in the journal or
  // (where that fails, too) in a file beside it; JournalReader::State knows both. Nothing can be written afterwards.
  absl::Status Abandon(const std::string& reason);

 private:
  class Statements;

  JournalWriter();
  static absl::StatusOr<std::unique_ptr<JournalWriter>> Start(SqliteDatabase database, const std::string& folder,
                                                              const JournalOptions& options,
                                                              const v1::ExperimentCreated* created);

  SqliteDatabase database_;
  std::unique_ptr<Statements> statements_;
  // Of the next fact.
  int64_t next_number_ = 1;
  // The database's.
  std::vector<NamedFile> files_;
  std::optional<LastWords> last_words_;
};

// ---- What readers get ----

// Whether an experiment in this state has come to its end, as far as it knows.
bool IsFinal(v1::ExperimentState state);

struct StateRecord {
  absl::Time time;
  v1::StateChanged change;
};

struct ModelRecord {
  int model = 0;
  absl::Time created;
  // As proposed; once the model has its outcome, as it really was.
  v1::Sample sample;
  // Space::ToJson(sample).
  std::string sample_json;
  // `model` and `sample` are not repeated in it.
  std::optional<v1::ModelOutcome> outcome;
};

struct AttemptRecord {
  int model = 0;
  int attempt = 0;
  int trial = 0;
  // Models of that trial.
  int members = 1;
  absl::Time queued;
  // v1::TrialQueued's.
  std::string alone_because;
  std::optional<absl::Time> started;
  v1::Device device;
  std::optional<absl::Time> ended;
  // It went on from a checkpoint, behind so many steps.
  int resumed_steps = 0;
  // Outcome UNSPECIFIED until it has ended.
  v1::ModelEnded end;
};

struct IntermediateRecord {
  int model = 0;
  int attempt = 0;
  int sequence = 0;
  absl::Time time;
  v1::Intermediate intermediate;
};

// A number that a model reported on the way.
struct ReportedValue {
  int model = 0;
  int attempt = 0;
  int sequence = 0;
  int step = 0;
  absl::Time time;
  std::string name;
  double value = 0;
};

// Models by outcome.
struct ModelCounts {
  int total = 0;
  int succeeded = 0;
  int failed = 0;
  int stopped_early = 0;
  int canceled = 0;
  int infeasible = 0;
  // No outcome yet.
  int unfinished = 0;
};

// Reads a journal as it was when the reader was opened, whatever is written meanwhile; open another one to see more.
class JournalReader {
 public:
  // Works while another process writes and where the folder is read-only. NOT_FOUND; FAILED_PRECONDITION if a newer
  // Lanista wrote it; DATA_LOSS if it is not a journal.
  static absl::StatusOr<JournalReader> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  // With the configuration in force: the last one, where it was changed by a resume.
  const v1::ExperimentCreated& experiment() const { return experiment_; }
  // The configuration that it was created with.
  const v1::ExperimentConfig& first_config() const { return first_config_; }
  absl::Time created() const { return created_; }
  // The process that held the experiment just before the journal was read: asked in this order, so that an experiment
  // that ends meanwhile is never taken for an interrupted one.
  std::optional<pid_t> holder() const { return holder_; }
  // The configured name, or the space's, or the id.
  const std::string& name() const { return name_; }

  // The state now: the last change, or CREATED. EXPERIMENT_FAILED where the journal had to be abandoned after that.
  absl::StatusOr<StateRecord> State() const;
  // Whether a head that serves clients had it last: it made the experiment, or was the last to run it.
  absl::StatusOr<bool> Served() const;
  // When the last fact was written.
  absl::StatusOr<absl::Time> LastTime() const;
  // How long it was in one of these states, all times together; where it is in one now, up to `until`.
  absl::StatusOr<absl::Duration> TimeIn(const std::vector<v1::ExperimentState>& states, absl::Time until) const;
  absl::StatusOr<ModelCounts> CountModels() const;
  // The `count` best models, best first: of those that succeeded and keep all limits, in the order of SortBestFirst
  // (src/goals/ranking.h) by the experiment's objectives.
  absl::StatusOr<std::vector<ModelRecord>> BestModels(int count) const;
  // Those of them that no other beats, in the same order. Several models that are equal in all objectives are in it.
  // With one objective: the best.
  absl::StatusOr<std::vector<ModelRecord>> ParetoFront() const;

  // All of a kind, in the order of their numbers (states: of time).
  absl::StatusOr<std::vector<StateRecord>> States() const;
  absl::StatusOr<std::optional<v1::SpaceSpec>> Space() const;
  // The same with the program that discovered it (empty: an older version did not say), and without the graphs.
  absl::StatusOr<std::optional<v1::Discovered>> Discovery() const;
  absl::StatusOr<std::vector<ModelRecord>> Models() const;
  absl::StatusOr<std::vector<AttemptRecord>> Attempts() const;
  absl::StatusOr<std::vector<IntermediateRecord>> Intermediates() const;

  // The same one by one, for journals that are larger than memory should be. They stop at the first error that `visit`
  // returns, and return it.
  absl::Status VisitStrategyCalls(const std::function<absl::Status(const v1::StrategyCall&)>& visit) const;
  absl::Status VisitStoppingCalls(const std::function<absl::Status(const v1::StoppingCall&)>& visit) const;
  absl::Status VisitModels(const std::function<absl::Status(ModelRecord)>& visit) const;
  // Attempts of these models.
  absl::StatusOr<std::vector<AttemptRecord>> AttemptsOf(const std::vector<int>& models) const;
  // What these models reported.
  absl::StatusOr<std::vector<IntermediateRecord>> IntermediatesOf(const std::vector<int>& models) const;
  // The numbers of the facts that these models have their outcomes by. Not of version 2.
  absl::StatusOr<std::map<int, int64_t>> OutcomeNumbers(const std::vector<int>& models) const;
  // The models of these trials.
  absl::StatusOr<std::map<int, std::vector<int>>> MembersOf(const std::vector<int>& trials) const;

  // For what keeps tables in memory: one pass over one table of the database, all models or (`only`) some.
  using OnlyModels = std::optional<std::vector<int>>;
  absl::Status VisitModelsOf(const OnlyModels& only, const std::function<absl::Status(ModelRecord)>& visit) const;
  // Without the metrics of their ends, which are not read, and without `members`. In the order of model and attempt.
  absl::Status VisitAttempts(const OnlyModels& only, const std::function<absl::Status(AttemptRecord)>& visit) const;
  // What models reported on the way, number by number, in the order of model, attempt and sequence. The argument is
  // another one's the next time.
  absl::Status VisitReports(const OnlyModels& only, const std::function<void(const ReportedValue&)>& visit) const;
  // The number of the last fact; nullopt for version 2, which has no order of facts.
  absl::StatusOr<std::optional<int64_t>> LastNumber() const;
  // The models that the facts behind the one with this number are about, sorted. Not of version 2.
  absl::StatusOr<std::vector<int>> ModelsChangedAfter(int64_t number) const;

  // Whether a model with this number was proposed.
  absl::StatusOr<bool> HasModel(int model) const;
  // The number of the last trial; 0: there is none.
  absl::StatusOr<int> LastTrial() const;

  // What a watcher is to see of the facts behind the one with this number (0: of all), in their order: at most `limit`
  // events (at least 1), and no more once they take `max_bytes`. Those that a watcher saw when they were recorded, and
  // the creation as a state. An outcome that a resume has removed is one without details. FAILED_PRECONDITION for
  // version 2, which has no order of facts.
  absl::StatusOr<std::vector<v1::ExperimentEvent>> EventsAfter(int64_t number, int limit, size_t max_bytes) const;

 private:
  JournalReader() = default;
  absl::Status Begin(const std::string& file, int flags);
  // The models that may be among the best, sorted.
  absl::StatusOr<std::vector<RankedModel>> RankedModels() const;
  // These models, in this order.
  absl::StatusOr<std::vector<ModelRecord>> ModelsOf(const std::vector<RankedModel>& ranked) const;
  absl::Status QueryModels(const std::string& clauses, const std::function<absl::Status(ModelRecord)>& visit) const;
  absl::StatusOr<std::vector<AttemptRecord>> QueryAttempts(const std::string& clauses) const;
  absl::Status ReadAttempts(bool with_metrics, const std::string& clauses,
                            const std::function<absl::Status(AttemptRecord)>& visit) const;
  absl::StatusOr<std::vector<IntermediateRecord>> QueryIntermediates(const std::string& clauses) const;

  std::string folder_;
  int version_ = 0;
  std::optional<pid_t> holder_;
  v1::ExperimentCreated experiment_;
  v1::ExperimentConfig first_config_;
  absl::Time created_;
  std::string name_;
  std::optional<LastWords::Words> last_words_;
  SqliteDatabase database_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_JOURNAL_H_
