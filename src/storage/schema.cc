#include "src/storage/schema.h"

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
  config BLOB NOT NULL  -- lanista.v1.ExperimentConfig
);
CREATE TABLE state_change (
  number INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL
);
CREATE TABLE space (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  time INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  spec BLOB NOT NULL  -- lanista.v1.SpaceSpec
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
  sample_proto BLOB NOT NULL  -- lanista.v1.Sample
);
CREATE TABLE trial (
  trial INTEGER PRIMARY KEY,
  time INTEGER NOT NULL,
  alone_because TEXT NOT NULL  -- why it has one model, where the engine merges; else empty
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
CREATE TABLE outcome (
  -- The primary key keeps the promise that a model has one outcome.
  model INTEGER PRIMARY KEY REFERENCES model,
  time INTEGER NOT NULL,
  attempt INTEGER NOT NULL,  -- the deciding one; 0: none
  outcome TEXT NOT NULL CHECK (outcome IN ('SUCCEEDED', 'FAILED', 'STOPPED_EARLY', 'CANCELED')),
  value REAL,  -- the metric `default`
  metrics TEXT NOT NULL,  -- JSON: {"name": value, ...}
  reason TEXT,
  message TEXT,
  signal INTEGER,
  exit_status INTEGER
);
)sql";

}  // namespace

absl::Status CreateSchema(const SqliteDatabase& database) {
  return database.Execute(absl::StrCat(kJournalSchema, "PRAGMA application_id = ", kApplicationId,
                                       "; PRAGMA user_version = ", kJournalVersion, ";"));
}

absl::Status CheckSchema(const SqliteDatabase& database, const std::string& file) {
  LANISTA_ASSIGN_OR_RETURN(const int64_t application, database.Pragma("application_id"));
  if (application != kApplicationId) return absl::DataLossError(absl::StrCat(file, ": not a journal of Lanista's"));
  LANISTA_ASSIGN_OR_RETURN(const int64_t version, database.Pragma("user_version"));
  if (version == kJournalVersion) return absl::OkStatus();
  const bool newer = version > kJournalVersion;
  return absl::FailedPreconditionError(
      absl::StrCat(file, ": written by ", newer ? "a newer" : "an older", " Lanista (schema ", version,
                   ", this program knows ", kJournalVersion, "): ", newer ? "upgrade" : "read it with that one"));
}

std::string JournalFile(const std::string& folder) { return folder + "/journal.db"; }

}  // namespace lanista
