#include "actors/held_trial.h"

#include <algorithm>

namespace lanista {

v1::HeldTrial HeldTrialOf(const v1::Assignment& assignment) {
  v1::HeldTrial held;
  if (!assignment.has_trial()) return held;
  held.set_assignment(assignment.id());
  held.set_experiment(assignment.trial().experiment());
  held.set_trial(assignment.trial().trial());
  held.set_device(assignment.device());
  for (const v1::TrialModel& model : assignment.trial().models()) {
    v1::HeldAttempt& attempt = *held.add_attempts();
    attempt.set_model(model.model());
    attempt.set_attempt(model.attempt());
  }
  return held;
}

void NoteReceived(const v1::AssignmentNews& news, v1::HeldTrial* held) {
  held->set_received(std::max<int64_t>(held->received(), news.number()));
  if (!news.has_event()) return;
  for (v1::HeldAttempt& attempt : *held->mutable_attempts()) {
    if (attempt.model() != news.event().model()) continue;
    attempt.set_recorded(std::max(attempt.recorded(), news.event().sequence()));
  }
}

}  // namespace lanista
