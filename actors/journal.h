// JournalActor: writes one experiment's facts, many requests a transaction.
#ifndef LANISTA_ACTORS_JOURNAL_H_
#define LANISTA_ACTORS_JOURNAL_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actors/interfaces.h"
#include "caf/typed_response_promise.hpp"
#include "src/telemetry/telemetry.h"

namespace lanista {

// Where the batches go: storage's JournalWriter, or a test's fake.
struct JournalSink {
  // All records of a call are written, or none; returns the number of the first. After UNAVAILABLE and
  // RESOURCE_EXHAUSTED it is called again with the same records.
  std::function<absl::StatusOr<int64_t>(const v1::JournalBatch&)> write;
  // Called once, after the last `write`, if that failed: keeps the reason for those who look at the experiment later.
  std::function<void(const absl::Status&)> abandon;
  // Whose journal it is: for the log.
  std::string experiment;
  TelemetryPtr telemetry = std::make_shared<Telemetry>();
};

// Group commit: what arrived while the last transaction was written goes into the next one. An error that may pass
// (UNAVAILABLE: another program holds SQLite's lock, say) is tried again every kRetryDelay, kMaxRetries times in a row.
// A full disk (RESOURCE_EXHAUSTED) is waited for: nothing that has to be recorded first can happen meanwhile, so the
// experiment pauses, and goes on when there is room. After any other error nothing more is written: a journal with gaps
// would be worse than one that ends.
struct JournalState {
  static inline const char* name = "journal";
  static constexpr int kMaxRetries = 10;
  static constexpr std::chrono::seconds kRetryDelay{1};

  struct Waiting {
    caf::typed_response_promise<v1::Recorded> promise;
    // The first of its records in `pending`.
    int first = 0;
  };

  // Waits for the next transaction.
  v1::JournalBatch pending;
  std::vector<Waiting> waiting;
  // Attempts to write `pending` that failed.
  int retries = 0;
  // The disk is full.
  bool paused = false;
  CountedIn paused_counted;
  // The first error that did not pass.
  absl::Status status;

  // Writes what is pending and answers those who wait. False: it has to be called again in kRetryDelay.
  bool Commit(const JournalSink& sink);
};

// With its message to itself.
using JournalSelf = JournalActor::extend<caf::reacts_to<commit_atom>>;

// Spawn it detached: the sink blocks. What the sink captures (the writer, the experiment's lock) lives as long as the
// actor.
JournalSelf::behavior_type Journal(JournalSelf::stateful_pointer<JournalState> self, JournalSink sink);

}  // namespace lanista

#endif  // LANISTA_ACTORS_JOURNAL_H_
