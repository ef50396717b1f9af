#include "src/storage/schema.h"

#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

// PRAGMA application_id: "Lani".
constexpr int64_t kApplicationId = 0x4c616e69;

// SQLite keeps comments inside CREATE: `.schema` shows them.
constexpr char kJournalSchema[] = R"sql(
CREATE TABLE experiment (
  -- All times are microseconds: datetime(time / 1000000, 'unixepoch').
  one INTEGER PRIMARY KEY CHECK (one = 1),
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  time INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  config BLOB NOT NULL,  -- lanista.v1.ExperimentConfig
  request_id TEXT NOT NULL DEFAULT '',  -- the client's, where one asked for it
  served INTEGER NOT NULL DEFAULT 0  -- 1: made by `serve`
);
CREATE TABLE state_change (
  number INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  served INTEGER NOT NULL DEFAULT 0  -- RUNNING: 1 where `serve` runs it, which goes on with it when it starts again
);
CREATE TABLE space (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  time INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  spec BLOB NOT NULL,  -- lanista.v1.SpaceSpec
  program TEXT NOT NULL,  -- the build that discovered it; empty: not known
  multi_model_evaluator INTEGER NOT NULL  -- 1: the evaluator can train several models in one trial
);
CREATE TABLE strategy_call (
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  call BLOB NOT NULL  -- lanista.v1.StrategyCall
);
CREATE TABLE model (
  model INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  sample TEXT NOT NULL,  -- JSON: {"label": candidate, ...}
  sample_proto BLOB NOT NULL,  -- lanista.v1.Sample
  params INTEGER,  -- its parameters, trained and frozen ones; NULL: it was not built
  flops INTEGER  -- of one run on one sample; NULL: not known
);
-- Where the engine merges: why the trial has one model (else empty), and a lanista.v1.TrialPlan.
CREATE TABLE trial (
  trial INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  alone_because TEXT NOT NULL,
  plan BLOB
);
CREATE TABLE attempt (
  model INTEGER NOT NULL REFERENCES model,
  attempt INTEGER NOT NULL,
  trial INTEGER NOT NULL REFERENCES trial,
  started INTEGER,
  node TEXT,
  device TEXT,
  device_proto BLOB,  -- lanista.v1.Device
  ended INTEGER,
  outcome TEXT,
  reason TEXT,  -- why it failed
  message TEXT,
  signal INTEGER,
  exit_status INTEGER,
  actual_sample BLOB,  -- lanista.v1.Sample, where it differs from the model's
  models_memory INTEGER,  -- bytes that the trial's models took at most; NULL: not measured
  lost_cause TEXT,  -- why it was LOST
  resumed_steps INTEGER NOT NULL DEFAULT 0,  -- it went on from a checkpoint behind so many steps
  assignment TEXT,  -- the head's id of what it gave to the node; NULL: it ran on a device of the head's own
  left_weights INTEGER NOT NULL DEFAULT 0,  -- 1: it left its model's trained weights
  PRIMARY KEY (model, attempt)
) WITHOUT ROWID;
CREATE TABLE metric (
  model INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  sequence INTEGER NOT NULL,  -- of the event that reported it
  name TEXT NOT NULL,
  step INTEGER,  -- NULL: final
  value REAL,
  time INTEGER NOT NULL,
  PRIMARY KEY (model, attempt, sequence, name),
  FOREIGN KEY (model, attempt) REFERENCES attempt
) WITHOUT ROWID;
)sql";

constexpr char kOutcomeSchema[] = R"sql(
CREATE TABLE outcome (
  -- The primary key keeps the promise that a model has one outcome.
  model INTEGER PRIMARY KEY REFERENCES model,
  time INTEGER NOT NULL,
  attempt INTEGER NOT NULL,  -- the deciding one; 0: none
  outcome TEXT NOT NULL CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'CANCELED', 'INFEASIBLE')),
  value REAL,  -- the metric `default`
  metrics TEXT NOT NULL,  -- JSON: {"name": value, ...}
  reason TEXT,
  message TEXT,
  signal INTEGER,
  exit_status INTEGER,
  stopped_step INTEGER,  -- STOPPED_EARLY: the step that decided
  stopped_because TEXT  -- and why
);
)sql";

// The tables that version 3 added.
constexpr char kFactSchema[] = R"sql(
CREATE TABLE fact (
  number INTEGER PRIMARY KEY,  -- counts facts of all kinds, in the order in which they were written; may have gaps
  time INTEGER NOT NULL,
  kind TEXT NOT NULL,  -- experiment, space, config_change, state_change, strategy_call, stopping_call, model, trial,
                       -- attempt_started, model_built, attempt_reported, attempt_ended, outcome, or outcome_removed
                       -- (the model runs again)
  id INTEGER NOT NULL,  -- number of the model, trial, call or change
  attempt INTEGER,
  sequence INTEGER  -- attempt_reported: of the event
);
CREATE TABLE config_change (
  number INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  config BLOB NOT NULL  -- lanista.v1.ExperimentConfig, from here on
);
)sql";

// The table that version 4 added.
constexpr char kStoppingSchema[] = R"sql(
CREATE TABLE stopping_call (
  sequence INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  model INTEGER NOT NULL,
  step INTEGER NOT NULL,  -- of a report; of an end: how many steps there were
  value REAL,  -- the metric `default`
  stop INTEGER,  -- the verdict on a report: 1 where the model stops; NULL: the model has ended
  because TEXT,  -- why it stops
  outcome TEXT  -- of the model that has ended; NULL: a report
);
)sql";

// The table that version 9 added.
constexpr char kWeightsSchema[] = R"sql(
CREATE TABLE weights (
  -- Models whose trained weights are kept now, and the folder (in the experiment's) with their file weights.pt.
  model INTEGER PRIMARY KEY REFERENCES model,
  folder TEXT NOT NULL
);
)sql";

// Upgrades version 2 to version 3: facts are numbered in the order of their times, and facts of the same time in the
// order in which they were written.
constexpr char kUpgradeFrom2[] = R"sql(
ALTER TABLE space ADD COLUMN program TEXT NOT NULL DEFAULT '';
ALTER TABLE space ADD COLUMN multi_model_evaluator INTEGER NOT NULL DEFAULT 0;
ALTER TABLE attempt ADD COLUMN lost_cause TEXT;
ALTER TABLE attempt ADD COLUMN resumed_steps INTEGER NOT NULL DEFAULT 0;
INSERT INTO fact (time, kind, id, attempt, sequence)
  SELECT time, kind, id, attempt, sequence FROM (
    SELECT time, 1 AS rank, 'experiment' AS kind, 1 AS id, NULL AS attempt, NULL AS sequence FROM experiment
    UNION ALL SELECT time, 2, 'space', 1, NULL, NULL FROM space
    UNION ALL SELECT time, 3, 'strategy_call', sequence, NULL, NULL FROM strategy_call
    UNION ALL SELECT time, 4, 'model', model, NULL, NULL FROM model
    UNION ALL SELECT time, 5, 'trial', trial, NULL, NULL FROM trial
    UNION ALL SELECT started, 6, 'attempt_started', model, attempt, NULL FROM attempt WHERE started IS NOT NULL
    UNION ALL SELECT DISTINCT time, 7, 'attempt_reported', model, attempt, sequence FROM metric WHERE step IS NOT NULL
    UNION ALL SELECT ended, 8, 'attempt_ended', model, attempt, NULL FROM attempt WHERE ended IS NOT NULL
    UNION ALL SELECT time, 9, 'outcome', model, NULL, NULL FROM outcome
    UNION ALL SELECT time, 10, 'state_change', number, NULL, NULL FROM state_change)
  ORDER BY time, rank, id, attempt, sequence;
)sql";

// Upgrades version 3 to version 4.
constexpr char kUpgradeFrom3[] = R"sql(
ALTER TABLE outcome ADD COLUMN stopped_step INTEGER;
ALTER TABLE outcome ADD COLUMN stopped_because TEXT;
)sql";

// Upgrades version 4 to version 5, which has one more outcome. The table of version 4 refuses that outcome, so a new
// table takes its rows.
constexpr char kUpgradeFrom4[] = R"sql(
ALTER TABLE experiment ADD COLUMN request_id TEXT NOT NULL DEFAULT '';
ALTER TABLE experiment ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
ALTER TABLE state_change ADD COLUMN served INTEGER NOT NULL DEFAULT 0;
INSERT INTO outcome SELECT * FROM outcome_before;
DROP TABLE outcome_before;
)sql";

// Upgrades version 5 to version 6.
constexpr char kUpgradeFrom5[] = R"sql(
ALTER TABLE trial ADD COLUMN plan BLOB;
)sql";

// Upgrades version 6 to version 7, which calls the state of an experiment as it calls the outcome of a model.
constexpr char kUpgradeFrom6[] = R"sql(
UPDATE state_change SET state = 'FAILED' WHERE state = 'EXPERIMENT_FAILED';
)sql";

// Upgrades version 7 to version 8.
constexpr char kUpgradeFrom7[] = R"sql(
ALTER TABLE model ADD COLUMN params INTEGER;
ALTER TABLE model ADD COLUMN flops INTEGER;
)sql";

// What version 9 added to the table `attempt`. Nearly all that succeeded left weights, where they were kept.
constexpr char kUpgradeFrom8[] = R"sql(
ALTER TABLE attempt ADD COLUMN assignment TEXT;
ALTER TABLE attempt ADD COLUMN left_weights INTEGER NOT NULL DEFAULT 0;
UPDATE attempt SET left_weights = 1 WHERE outcome = 'SUCCEEDED';
)sql";

// Upgrades version 8 to version 9.
absl::Status UpgradeFrom8(const SqliteDatabase& database, const std::map<int, std::string>& weights) {
  LANISTA_RETURN_IF_ERROR(database.Execute(absl::StrCat(kWeightsSchema, kUpgradeFrom8)));
  LANISTA_ASSIGN_OR_RETURN(SqliteStatement insert, database.Prepare("INSERT INTO weights VALUES (?, ?)"));
  for (const auto& [model, folder] : weights) LANISTA_RETURN_IF_ERROR(insert.Run(model, folder));
  return absl::OkStatus();
}

}  // namespace

absl::Status CreateSchema(const SqliteDatabase& database) {
  return database.Execute(absl::StrCat(kJournalSchema, kOutcomeSchema, kFactSchema, kStoppingSchema, kWeightsSchema,
                                       "PRAGMA application_id = ", kApplicationId,
                                       "; PRAGMA user_version = ", kJournalVersion, ";"));
}

absl::Status UpgradeSchema(const SqliteDatabase& database, const std::map<int, std::string>& weights) {
  LANISTA_ASSIGN_OR_RETURN(const int64_t version, database.Pragma("user_version"));
  if (version == kJournalVersion) return absl::OkStatus();
  LANISTA_RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  absl::Status upgraded;
  if (version == 2) upgraded = database.Execute(absl::StrCat(kFactSchema, kUpgradeFrom2));
  if (upgraded.ok() && version <= 3) upgraded = database.Execute(absl::StrCat(kStoppingSchema, kUpgradeFrom3));
  if (upgraded.ok() && version <= 4) {
    upgraded =
        database.Execute(absl::StrCat("ALTER TABLE outcome RENAME TO outcome_before;", kOutcomeSchema, kUpgradeFrom4));
  }
  if (upgraded.ok() && version <= 5) upgraded = database.Execute(kUpgradeFrom5);
  if (upgraded.ok() && version <= 6) upgraded = database.Execute(kUpgradeFrom6);
  if (upgraded.ok() && version <= 7) upgraded = database.Execute(kUpgradeFrom7);
  if (upgraded.ok()) upgraded = UpgradeFrom8(database, weights);
  if (upgraded.ok()) upgraded = database.Execute(absl::StrCat("PRAGMA user_version = ", kJournalVersion, "; COMMIT"));
  if (!upgraded.ok() && database.in_transaction()) database.Execute("ROLLBACK").IgnoreError();
  return upgraded;
}

absl::StatusOr<int> CheckSchema(const SqliteDatabase& database, const std::string& file) {
  LANISTA_ASSIGN_OR_RETURN(const int64_t application, database.Pragma("application_id"));
  if (application != kApplicationId) return absl::DataLossError(absl::StrCat(file, ": not a journal of Lanista's"));
  LANISTA_ASSIGN_OR_RETURN(const int64_t version, database.Pragma("user_version"));
  if (version >= kOldestJournalVersion && version <= kJournalVersion) return static_cast<int>(version);
  const bool newer = version > kJournalVersion;
  return absl::FailedPreconditionError(
      absl::StrCat(file, ": written by ", newer ? "a newer" : "an older", " Lanista (schema ", version,
                   ", this program knows ", kJournalVersion, "): ", newer ? "upgrade" : "read it with that one"));
}

std::string JournalFile(const std::string& folder) { return folder + "/journal.db"; }

}  // namespace lanista
