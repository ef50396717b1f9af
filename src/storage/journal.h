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
inline constexpr int kJournalVersion = 9;
// Older journals are read as they are, and upgraded by the first writer.
inline constexpr int kOldestJournalVersion = 2;

struct JournalOptions {
  // Every batch waits for the disk, so all batches survive power loss, too. Otherwise every batch survives the death of
  // any process, but power loss may cost the last moments.
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

  // Writes all records, or (after an error) none; after OK they survive this process. Returns the number of the first
  // record: facts of all kinds are counted together, from 1 (the experiment itself), and those of a batch have
  // consecutive numbers. A record without a time gets the current one. Events are identified by (model, attempt,
  // sequence): a repeated event is written once (its second number stays unused), and only the first start and the
  // first end of an attempt and the first build of a model count.
  //
  // ALREADY_EXISTS: the model has an outcome, or there is such a model, trial, attempt or call (of strategy or stopper)
  // already. FAILED_PRECONDITION: the journal does not have the attempt of an event, or the model of an outcome.
  // RESOURCE_EXHAUSTED: the disk is full. UNAVAILABLE: it cannot be written now. After these two errors the journal has
  // not changed, and Write may be called again. DATA_LOSS: the journal was deleted, moved or replaced, or is damaged,
  // so no reader would find what is written to it.
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
  // The number of the next fact.
  int64_t next_number_ = 1;
  // The files of the database.
  std::vector<NamedFile> files_;
  std::optional<LastWords> last_words_;
};

// ---- What readers get ----

// Whether an experiment in this state has come to its end, as far as it knows.
bool IsFinal(v1::ExperimentState::State state);

struct StateRecord {
  absl::Time time;
  v1::StateChanged change;
};

struct ModelRecord {
  int model = 0;
  absl::Time created;
  // The proposed sample; once the model has its outcome, the sample that it really had.
  v1::Sample sample;
  // Space::ToJson(sample).
  std::string sample_json;
  // What a trial process that has built it counted: its parameters, and the FLOPs of one run on one sample. nullopt: it
  // was not built, or (FLOPs) not all are known. Journals before version 8 have neither.
  std::optional<int64_t> params;
  std::optional<int64_t> flops;
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
  // The number of steps in the checkpoint from which the attempt went on; 0: it began anew.
  int resumed_steps = 0;
  // v1::ModelStarted's. Empty: it ran on a device of the head's own, or the journal is older than version 9.
  std::string assignment;
  // Its outcome is UNSPECIFIED until the attempt has ended.
  v1::ModelEnded end;
};

struct TrialRecord {
  int trial = 0;
  absl::Time queued;
  // v1::TrialQueued's; of a journal before version 6 without a plan.
  std::string alone_because;
  v1::TrialPlan plan;
};

struct IntermediateRecord {
  int model = 0;
  int attempt = 0;
  int sequence = 0;
  absl::Time time;
  v1::Intermediate intermediate;
};

// One intermediate metric of a model.
struct ReportedValue {
  int model = 0;
  int attempt = 0;
  int sequence = 0;
  int step = 0;
  absl::Time time;
  std::string name;
  double value = 0;
};

// Numbers of models by outcome.
struct ModelCounts {
  int total = 0;
  int succeeded = 0;
  int failed = 0;
  int stopped_early = 0;
  int canceled = 0;
  int infeasible = 0;
  // Models without an outcome yet.
  int unfinished = 0;
};

// Reads a journal as it was when the reader was opened, whatever is written meanwhile; open another one to see more.
class JournalReader {
 public:
  // Works while another process writes and where the folder is read-only. NOT_FOUND; FAILED_PRECONDITION if a newer
  // Lanista wrote it; DATA_LOSS if it is not a journal.
  static absl::StatusOr<JournalReader> Open(const std::string& folder);

  const std::string& folder() const { return folder_; }
  // Has the configuration in force, which a resume may have changed.
  const v1::ExperimentCreated& experiment() const { return experiment_; }
  // The configuration that it was created with.
  const v1::ExperimentConfig& first_config() const { return first_config_; }
  absl::Time created() const { return created_; }
  // The process that held the experiment just before the journal was read. In this order, an experiment that ends in
  // between is never taken for an interrupted one.
  std::optional<pid_t> holder() const { return holder_; }
  // The configured name, or the space's, or the id.
  const std::string& name() const { return name_; }

  // The state: that of the last change, or CREATED. FAILED if the journal was abandoned after that.
  absl::StatusOr<StateRecord> State() const;
  // Whether a head that serves clients was the last to run the experiment, or created it if it never ran.
  absl::StatusOr<bool> Served() const;
  // When the last fact was written.
  absl::StatusOr<absl::Time> LastTime() const;
  // How long the experiment was in any of these states altogether. If it is in one now, that counts up to `until`.
  absl::StatusOr<absl::Duration> TimeIn(const std::vector<v1::ExperimentState::State>& states, absl::Time until) const;
  absl::StatusOr<ModelCounts> CountModels() const;
  // The `count` best models, best first: of those that succeeded and keep all limits, in the order of SortBestFirst
  // (src/goals/ranking.h) by the experiment's objectives.
  absl::StatusOr<std::vector<ModelRecord>> BestModels(int count) const;
  // The models that no other model beats, in the same order; models that are equal in all objectives are all included.
  // With one objective these are the best models.
  absl::StatusOr<std::vector<ModelRecord>> ParetoFront() const;

  // All facts of one kind, in the order of their numbers (states: of their times).
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
  // Of the models that failed, in their order, read without their samples and metrics.
  absl::Status VisitFailures(const std::function<void(int model, const v1::Failure& failure)>& visit) const;
  // Attempts of these models.
  absl::StatusOr<std::vector<AttemptRecord>> AttemptsOf(const std::vector<int>& models) const;
  // The intermediate reports of these models.
  absl::StatusOr<std::vector<IntermediateRecord>> IntermediatesOf(const std::vector<int>& models) const;
  // The number of the fact with the outcome of each of these models. Not for journals of version 2.
  absl::StatusOr<std::map<int, int64_t>> OutcomeNumbers(const std::vector<int>& models) const;
  // Those trials of which the engine says something: it merged models, planned their memory, or says why one is alone.
  absl::StatusOr<std::vector<TrialRecord>> PlannedTrials() const;
  // The models of these trials.
  absl::StatusOr<std::map<int, std::vector<int>>> MembersOf(const std::vector<int>& trials) const;

  // The models whose trained weights are kept, and the folder of each (in the experiment's) with the file weights.pt.
  // Somebody may have removed the file. Of a journal before version 9: those of the best models, with several
  // objectives if their files are there.
  absl::StatusOr<std::map<int, std::string>> Weights() const;

  // NOT_FOUND: there is no such model.
  absl::StatusOr<ModelRecord> FindModel(int model) const;

  // For callers that keep tables in memory: one pass over one table of the database, for all models or for `only` some.
  using OnlyModels = std::optional<std::vector<int>>;
  absl::Status VisitModelsOf(const OnlyModels& only, const std::function<absl::Status(ModelRecord)>& visit) const;
  // Without the metrics of their ends, which are not read, and without `members`. In the order of model and attempt.
  absl::Status VisitAttempts(const OnlyModels& only, const std::function<absl::Status(AttemptRecord)>& visit) const;
  // Visits the intermediate metrics one by one, in the order of model, attempt, sequence and name. The argument of
  // `visit` is overwritten for the next metric.
  absl::Status VisitReports(const OnlyModels& only, const std::function<void(const ReportedValue&)>& visit) const;
  // The number of the last fact; nullopt for version 2, which has no order of facts.
  absl::StatusOr<std::optional<int64_t>> LastNumber() const;

  // The facts behind one.
  struct NewFacts {
    // Of those that are events of EventsAfter: the number of the last one (0: there are none), and how many are about
    // the experiment itself, about models (attempts that began, were built or ended, and outcomes), and reports.
    int64_t last = 0;
    int64_t own = 0;
    int64_t of_models = 0;
    int64_t reports = 0;
    // What they and the others are about, in their order, and perhaps more than once.
    std::vector<int> models;
    std::vector<int> trials;
  };
  // All of them, or as many as are `enough`, which is asked before each. FAILED_PRECONDITION for journals of version 2,
  // which have no order of facts.
  absl::StatusOr<NewFacts> FactsAfter(
      int64_t number, const std::function<bool(const NewFacts&)>& enough = [](const NewFacts&) { return false; }) const;
  // The models that the facts are about, those of the trials among them, sorted.
  absl::StatusOr<std::vector<int>> ChangedModels(NewFacts facts) const;

  // The number of the last trial; 0: no trial was queued.
  absl::StatusOr<int> LastTrial() const;

  // The events for a watcher who has seen the facts up to this number (0: none), in their order. Returns at most
  // `limit` events (at least 1), and stops when they take `max_bytes`. They are the events that watchers got when they
  // were recorded; the creation comes as a state, and an outcome that a resume has removed has no details.
  // FAILED_PRECONDITION for journals of version 2, which have no order of facts.
  absl::StatusOr<std::vector<v1::ExperimentEvent>> EventsAfter(int64_t number, int limit, size_t max_bytes) const;
  // Those of them that are about the experiment itself: its creation, its space and its states.
  absl::StatusOr<std::vector<v1::ExperimentEvent>> OwnEventsAfter(int64_t number) const;

 private:
  JournalReader() = default;
  absl::Status Begin(const std::string& file, int flags);
  // Weights, of a journal that does not record them.
  absl::StatusOr<std::map<int, std::string>> FindWeights() const;
  // The models that may be among the best, sorted.
  absl::StatusOr<std::vector<RankedModel>> RankedModels() const;
  // These models, in this order.
  absl::StatusOr<std::vector<ModelRecord>> ModelsOf(const std::vector<RankedModel>& ranked) const;
  absl::Status QueryModels(const std::string& clauses, const std::function<absl::Status(ModelRecord)>& visit) const;
  absl::StatusOr<std::vector<AttemptRecord>> QueryAttempts(const std::string& clauses) const;
  absl::Status ReadAttempts(bool with_metrics, const std::string& clauses,
                            const std::function<absl::Status(AttemptRecord)>& visit) const;
  absl::StatusOr<std::vector<IntermediateRecord>> QueryIntermediates(const std::string& clauses) const;
  absl::Status CheckOrderOfFacts() const;
  // `kinds`: of facts, as a list in SQL.
  absl::StatusOr<std::vector<v1::ExperimentEvent>> QueryEvents(int64_t number, const std::string& kinds, int limit,
                                                               size_t max_bytes) const;

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
