// Facts of now, on their way into an experiment's journal.
#ifndef LANISTA_ACTORS_JOURNAL_FACTS_H_
#define LANISTA_ACTORS_JOURNAL_FACTS_H_

#include <string>

#include "protos/messages.pb.h"
#include "src/base/clock.h"

namespace lanista {

// Appends a record of now, which has no kind yet.
inline v1::JournalRecord& AddRecord(v1::JournalBatch& batch) {
  v1::JournalRecord& record = *batch.add_records();
  *record.mutable_time() = Now();
  return record;
}

// Appends that the experiment is in this state from now on.
inline void AddState(v1::JournalBatch& batch, v1::ExperimentState::State state, const std::string& reason) {
  v1::StateChanged& changed = *AddRecord(batch).mutable_state();
  changed.set_state(state);
  changed.set_reason(reason);
}

}  // namespace lanista

#endif  // LANISTA_ACTORS_JOURNAL_FACTS_H_
