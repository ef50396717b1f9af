#include "actors/model_events.h"

#include "src/base/clock.h"

namespace lanista {

v1::ModelEvent EndedEvent(const v1::TrialSpec& spec, const v1::TrialModel& model, int last_sequence,
                          v1::Outcome outcome, const v1::Failure& failure, v1::LostCause lost_cause) {
  v1::ModelEvent event;
  event.set_experiment(spec.experiment());
  event.set_trial(spec.trial());
  event.set_model(model.model());
  event.set_attempt(model.attempt());
  event.set_sequence(last_sequence + 1);
  *event.mutable_time() = Now();
  event.mutable_ended()->set_outcome(outcome);
  event.mutable_ended()->set_lost_cause(lost_cause);
  if (failure.reason() != v1::FAILURE_REASON_UNSPECIFIED) *event.mutable_ended()->mutable_failure() = failure;
  return event;
}

}  // namespace lanista
