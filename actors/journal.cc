#include "actors/journal.h"

#include <string>
#include <utility>

#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/base/logging.h"
#include "src/base/status.h"

namespace lanista {

bool JournalState::Commit(const JournalSink& sink) {
  int64_t number = 0;
  if (status.ok()) {
    const auto begin = std::chrono::steady_clock::now();
    const absl::StatusOr<int64_t> written = sink.write(pending);
    if (written.ok()) {
      sink.telemetry->journal_write.Observe(std::chrono::steady_clock::now() - begin);
      sink.telemetry->journal_records.Add(static_cast<uint64_t>(pending.records_size()));
    } else {
      sink.telemetry->journal_errors.Add();
    }
    if (absl::IsResourceExhausted(written.status())) {
      paused_counted.Move({sink.telemetry, &sink.telemetry->journals_paused});
      if (!std::exchange(paused, true)) {
        LogWarning("{}it pauses until its journal can be written: {}", LogTag(sink.experiment),
                   std::string(written.status().message()));
      }
      return false;
    }
    paused_counted.Move(nullptr);
    if (std::exchange(paused, false))
      LogInfo("{}there is room for its journal again: it goes on", LogTag(sink.experiment));
    if (absl::IsUnavailable(written.status()) && retries < kMaxRetries) {
      if (retries++ == 0) {
        LogWarning("{}its journal cannot be written now, trying again: {}", LogTag(sink.experiment),
                   std::string(written.status().message()));
      }
      return false;
    }
    retries = 0;
    if (written.ok()) {
      number = *written;
    } else {
      status = Annotate(written.status(), "the journal cannot be written");
      LogError("{}{}", LogTag(sink.experiment), std::string(status.message()));
      sink.abandon(status);
    }
  }
  for (Waiting& one : waiting) {
    if (!status.ok()) {
      one.promise.deliver(ToCafError(status));
      continue;
    }
    v1::Recorded recorded;
    recorded.set_first_number(number + one.first);
    one.promise.deliver(std::move(recorded));
  }
  pending.Clear();
  waiting.clear();
  return true;
}

JournalSelf::behavior_type Journal(JournalSelf::stateful_pointer<JournalState> self, JournalSink sink) {
  return {
      [self](v1::JournalBatch& batch) -> caf::result<v1::Recorded> {
        JournalState& state = self->state;
        // Behind whatever else is in the mailbox already.
        if (state.waiting.empty()) self->send(self, commit_atom_v);
        const int first = state.pending.records_size();
        for (v1::JournalRecord& record : *batch.mutable_records()) state.pending.add_records()->Swap(&record);
        state.waiting.push_back({self->make_response_promise<v1::Recorded>(), first});
        return state.waiting.back().promise;
      },
      [](const v1::Ack&) { return v1::Ack(); },
      [self, sink = std::move(sink)](commit_atom) {
        if (!self->state.Commit(sink)) self->delayed_send(self, JournalState::kRetryDelay, commit_atom_v);
      },
  };
}

}  // namespace lanista
