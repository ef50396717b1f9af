#include "actors/journal.h"

#include <utility>

#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "spdlog/spdlog.h"

namespace lanista {

void JournalState::Commit(const WriteJournal& write) {
  if (status.ok()) {
    status = write(pending);
    if (!status.ok()) spdlog::error("the journal cannot be written: {}", std::string(status.message()));
  }
  for (auto& promise : waiting) {
    if (status.ok()) {
      promise.deliver(v1::Ack());
    } else {
      promise.deliver(ToCafError(status));
    }
  }
  pending.Clear();
  waiting.clear();
}

JournalSelf::behavior_type Journal(JournalSelf::stateful_pointer<JournalState> self, WriteJournal write) {
  return {
      [self](v1::JournalBatch& batch) -> caf::result<v1::Ack> {
        JournalState& state = self->state;
        // Behind whatever else is in the mailbox already.
        if (state.waiting.empty()) self->send(self, commit_atom_v);
        for (v1::JournalRecord& record : *batch.mutable_records()) state.pending.add_records()->Swap(&record);
        state.waiting.push_back(self->make_response_promise<v1::Ack>());
        return state.waiting.back();
      },
      [self, write = std::move(write)](commit_atom) { self->state.Commit(write); },
  };
}

}  // namespace lanista
