#include "src/base/event_window.h"

namespace lanista {

bool IsAcknowledged(const v1::ModelEvent& event) {
  if (event.has_ended()) return false;
  return event.sequence() % kAcknowledgedOneOf == 0 || static_cast<int64_t>(event.ByteSizeLong()) > kSmallEventBytes;
}

v1::EventsRecorded AcknowledgementOf(const v1::ModelEvent& event) {
  v1::EventsRecorded recorded;
  recorded.set_experiment(event.experiment());
  recorded.set_trial(event.trial());
  recorded.set_model(event.model());
  recorded.set_attempt(event.attempt());
  recorded.set_sequence(event.sequence());
  return recorded;
}

void EventWindow::Begin(const v1::TrialSpec& trial) {
  *this = EventWindow();
  experiment_ = trial.experiment();
  trial_ = trial.trial();
  num_models_ = trial.models_size();
  for (const v1::TrialModel& model : trial.models()) models_[model.model()].attempt = model.attempt();
}

void EventWindow::Read(const v1::ModelEvent& event, Clock::time_point now) {
  if (event.trial() != trial_ || event.experiment() != experiment_) return;
  const auto found = models_.find(event.model());
  if (found == models_.end()) return;
  Model& model = found->second;
  if (event.has_ended()) {
    unrecorded_.events -= model.read.events - model.recorded.events;
    unrecorded_.bytes -= model.read.bytes - model.recorded.bytes;
    models_.erase(found);
    return Update(now);
  }
  const auto bytes = static_cast<int64_t>(event.ByteSizeLong());
  ++model.read.events;
  model.read.bytes += bytes;
  ++unrecorded_.events;
  unrecorded_.bytes += bytes;
  if (IsAcknowledged(event)) model.marks.push_back({event.sequence(), model.read});
  Update(now);
}

void EventWindow::Recorded(const v1::EventsRecorded& recorded, Clock::time_point now) {
  if (recorded.trial() != trial_ || recorded.experiment() != experiment_) return;
  const auto found = models_.find(recorded.model());
  if (found == models_.end() || found->second.attempt != recorded.attempt()) return;
  Model& model = found->second;
  const Amount before = model.recorded;
  while (!model.marks.empty() && model.marks.front().sequence <= recorded.sequence()) {
    model.recorded = model.marks.front().read;
    model.marks.pop_front();
  }
  unrecorded_.events -= model.recorded.events - before.events;
  unrecorded_.bytes -= model.recorded.bytes - before.bytes;
  Update(now);
}

bool EventWindow::full() const {
  return unrecorded_.events >= kEvents + num_models_ * kAcknowledgedOneOf ||
         unrecorded_.bytes >= kBytes + num_models_ * kAcknowledgedOneOf * kSmallEventBytes;
}

EventWindow::Clock::duration EventWindow::FullFor(Clock::time_point now) const {
  return was_full_ ? full_before_ + (now - full_since_) : full_before_;
}

void EventWindow::Update(Clock::time_point now) {
  if (full() == was_full_) return;
  full_before_ = FullFor(now);
  full_since_ = now;
  was_full_ = !was_full_;
}

}  // namespace lanista
