#include "actors/journal.h"

#include <utility>

#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "spdlog/spdlog.h"
#include "src/base/status.h"

namespace lanista {

bool JournalState::Commit(const JournalSink& sink) {
  if (status.ok()) {
    const absl::Status written = sink.write(pending);
    if (absl::IsUnavailable(written) && retries < kMaxRetries) {
      if (retries++ == 0) {
        spdlog::warn("the journal cannot be written now, trying again: {}", std::string(written.message()));
      }
      return false;
    }
    retries = 0;
    if (!written.ok()) {
      status = Annotate(written, "the journal cannot be written");
      spdlog::error("{}", std::string(status.message()));
      sink.abandon(status);
    }
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
  return true;
}

JournalSelf::behavior_type Journal(JournalSelf::stateful_pointer<JournalState> self, JournalSink sink) {
  return {
      [self](v1::JournalBatch& batch) -> caf::result<v1::Ack> {
        JournalState& state = self->state;
        // Behind whatever else is in the mailbox already.
        if (state.waiting.empty()) self->send(self, commit_atom_v);
        for (v1::JournalRecord& record : *batch.mutable_records()) state.pending.add_records()->Swap(&record);
        state.waiting.push_back(self->make_response_promise<v1::Ack>());
        return state.waiting.back();
      },
      [self, sink = std::move(sink)](commit_atom) {
        if (!self->state.Commit(sink)) self->delayed_send(self, JournalState::kRetryDelay, commit_atom_v);
      },
  };
}

}  // namespace lanista
