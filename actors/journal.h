// JournalActor: writes one experiment's facts, many requests a transaction.
#ifndef LANISTA_ACTORS_JOURNAL_H_
#define LANISTA_ACTORS_JOURNAL_H_

#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "caf/typed_response_promise.hpp"

namespace lanista {

// Where the batches go: storage's JournalWriter, or a test's fake. All records of a call are written, or none.
using WriteJournal = std::function<absl::Status(const v1::JournalBatch&)>;

// Group commit: what arrived while the last transaction was written goes into the next one. After an error nothing more
// is written: a journal with gaps would be worse than one that ends.
struct JournalState {
  static inline const char* name = "journal";

  // Waits for the next transaction.
  v1::JournalBatch pending;
  std::vector<caf::typed_response_promise<v1::Ack>> waiting;
  // The first error.
  absl::Status status;

  // Writes what is pending and answers those who wait.
  void Commit(const WriteJournal& write);
};

// With its message to itself.
using JournalSelf = JournalActor::extend<caf::reacts_to<commit_atom>>;

// Spawn it detached: `write` blocks. What `write` captures (the writer, the experiment's lock) lives as long as the
// actor.
JournalSelf::behavior_type Journal(JournalSelf::stateful_pointer<JournalState> self, WriteJournal write);

}  // namespace lanista

#endif  // LANISTA_ACTORS_JOURNAL_H_
