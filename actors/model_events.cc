#include "actors/model_events.h"

#include "src/base/clock.h"

namespace lanista {

v1::ModelEvent EndedEvent(const v1::TrialSpec& spec, const v1::TrialModel& model, int last_sequence,
                          v1::Outcome outcome, const v1::Failure& failure) {
  v1::ModelEvent event;
  event.set_experiment(spec.experiment());
  event.set_trial(spec.trial());
  event.set_model(model.model());
  event.set_attempt(model.attempt());
  event.set_sequence(last_sequence + 1);
  *event.mutable_time() = Now();
  event.mutable_ended()->set_outcome(outcome);
  if (failure.reason() != v1::FAILURE_REASON_UNSPECIFIED) *event.mutable_ended()->mutable_failure() = failure;
  return event;
}

v1::ModelOutcome CanceledOutcome(const v1::TrialModel& model) {
  v1::ModelOutcome outcome;
  outcome.set_model(model.model());
  // An earlier one, if there was one.
  outcome.set_attempt(model.attempt() - 1);
  outcome.set_outcome(v1::CANCELED);
  *outcome.mutable_sample() = model.sample();
  return outcome;
}

}  // namespace lanista
