// ExperimentWatch: what a watcher is told next.
#include <unistd.h>

#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/service/experiments.h"
#include "src/service/request_checks.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

constexpr size_t kMaxEvents = 500;
constexpr size_t kMaxEventBytes = 1 << 20;
// So many facts of models are many; the other number of facts are too many for one batch.
constexpr int64_t kManyFacts = 100;
constexpr int64_t kTooManyFacts = 20000;

// Whether they are told as events: a report is its own event, and of a part of what is new, the experiment's own events
// behind that part would come too early.
bool AreEvents(const JournalReader::NewFacts& facts) {
  return facts.reports > 0 || facts.own + facts.of_models >= kTooManyFacts;
}

// Whether they are as many as were asked for.
bool IsFull(const std::vector<v1::ExperimentEvent>& events) {
  size_t bytes = 0;
  for (const v1::ExperimentEvent& event : events) bytes += event.ByteSizeLong();
  return events.size() >= kMaxEvents || bytes >= kMaxEventBytes;
}

}  // namespace

absl::StatusOr<ExperimentWatch::Batch> ExperimentWatch::Next(Form form) {
  // For this moment only: a transaction that stays open would keep SQLite from tidying its log.
  LANISTA_ASSIGN_OR_RETURN(JournalReader opened, JournalReader::Open(folder_));
  const auto journal = std::make_shared<const JournalReader>(std::move(opened));
  const JournalReader& reader = *journal;
  // Whoever else runs it publishes no news here.
  waiter_->polls = reader.holder() != getpid() || (runner_ != nullptr && !runner_->Runs(id_));
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  Batch batch;
  batch.more = !reader.holder().has_value() || IsFinal(state.change.state());
  if (form == Form::kManyAsModels) {
    LANISTA_ASSIGN_OR_RETURN(JournalReader::NewFacts facts, reader.FactsAfter(after_, AreEvents));
    if (facts.of_models >= kManyFacts && !AreEvents(facts)) {
      if (facts.own > 0) {
        LANISTA_ASSIGN_OR_RETURN(batch.events, reader.OwnEventsAfter(after_));
      }
      const int64_t last = facts.last;
      LANISTA_ASSIGN_OR_RETURN(batch.models, reader.ChangedModels(std::move(facts)));
      after_ = last;
      batch.journal = journal;
      return batch;
    }
  }
  LANISTA_ASSIGN_OR_RETURN(batch.events, reader.EventsAfter(after_, kMaxEvents, kMaxEventBytes));
  if (!batch.events.empty()) {
    after_ = batch.events.back().number();
    batch.more = batch.more || IsFull(batch.events);
    return batch;
  }
  batch.more = false;
  if (IsFinal(state.change.state())) {
    batch.ended = true;
    LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, reader.States());
    if (!states.empty() && IsFinal(states.back().change.state())) return batch;
    // The journal could not be written any more: its last words are no fact.
    v1::ExperimentEvent& event = batch.events.emplace_back();
    event.set_experiment(reader.experiment().experiment());
    *event.mutable_time() = ToTimestamp(state.time);
    *event.mutable_state() = state.change;
    return batch;
  }
  if (reader.holder().has_value()) return batch;
  return absl::AbortedError(absl::StrCat("the process that ran ", id_, " ended before the experiment did; `resume ",
                                         id_, "` goes on with it"));
}

absl::StatusOr<std::unique_ptr<ExperimentWatch>> Experiments::Watch(const v1::WatchRequest& request,
                                                                    std::function<void()> wake) {
  LANISTA_RETURN_IF_ERROR(CheckRange(request.after(), 0, std::numeric_limits<int64_t>::max(), "after"));
  LANISTA_ASSIGN_OR_RETURN(const std::string id, Find(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(std::string folder, state_dir_.ExperimentFolder(id));
  std::unique_ptr<ExperimentWatch> watch(new ExperimentWatch(id, std::move(folder), runner_, request.after()));
  watch->waiter_ = news_.Wait(id, std::move(wake));
  return watch;
}

void Experiments::WakeWatches() { news_.PublishAll(); }

}  // namespace lanista
