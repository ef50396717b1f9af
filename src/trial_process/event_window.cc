#include "src/trial_process/event_window.h"

#include <algorithm>

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
  *this = EventWindow(limit_);
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
    unrecorded_ -= model.read;
    unrecorded_ += model.recorded;
    models_.erase(found);
    return Update(now);
  }
  const EventAmount amount = {1, static_cast<int64_t>(event.ByteSizeLong())};
  model.read += amount;
  unrecorded_ += amount;
  if (IsAcknowledged(event)) model.marks.push_back({event.sequence(), model.read});
  Update(now);
}

void EventWindow::Recorded(const v1::EventsRecorded& recorded, Clock::time_point now) {
  if (recorded.trial() != trial_ || recorded.experiment() != experiment_) return;
  const auto found = models_.find(recorded.model());
  if (found == models_.end() || found->second.attempt != recorded.attempt()) return;
  Model& model = found->second;
  unrecorded_ += model.recorded;
  while (!model.marks.empty() && model.marks.front().sequence <= recorded.sequence()) {
    model.recorded = model.marks.front().read;
    model.marks.pop_front();
  }
  unrecorded_ -= model.recorded;
  Update(now);
}

EventAmount EventWindow::LimitOfOneIn(int trials) {
  constexpr int64_t kFullLimits = 64;
  const int64_t share = std::max<int64_t>(trials, kFullLimits);
  return {std::max<int64_t>(kEvents * kFullLimits / share, kAcknowledgedOneOf),
          std::max<int64_t>(kBytes * kFullLimits / share, kAcknowledgedOneOf * kSmallEventBytes)};
}

EventAmount EventWindow::excess() const {
  const int64_t margin = num_models_ * kAcknowledgedOneOf;
  return {std::max<int64_t>(unrecorded_.events - margin, 0),
          std::max<int64_t>(unrecorded_.bytes - margin * kSmallEventBytes, 0)};
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
