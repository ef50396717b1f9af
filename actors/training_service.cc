#include "actors/training_service.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "actors/model_events.h"
#include "spdlog/spdlog.h"
#include "src/base/status.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

// A device on which no work was ever done is given up after so many workers.
constexpr int kMaxFirstWorkers = 4;
// A discovery that so many workers went down with fails.
constexpr int kMaxDiscoveryLost = 3;

// How long a device waits for its next worker after so many that did no work, one after the other.
std::chrono::seconds RestartDelay(int downs) {
  return std::chrono::seconds(downs < 2 ? 0 : 1 << std::min(downs - 2, 6));
}

}  // namespace

TrainingServiceSelf::behavior_type TrainingService(TrainingServiceSelf::stateful_pointer<TrainingServiceState> self,
                                                   TrainingServiceOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

TrainingServiceSelf::behavior_type TrainingServiceState::MakeBehavior(TrainingServiceOptions options) {
  options_ = std::move(options);
  self_->set_down_handler([this](const caf::down_msg& down) { OnDown(down); });
  slots_.resize(options_.devices.size());
  for (size_t slot = 0; slot < slots_.size(); ++slot) {
    slots_[slot].device = std::move(options_.devices[slot]);
    Spawn(slot);
  }
  return {
      [this](const v1::WorkerReady& ready) {
        Slot& slot = slots_[static_cast<size_t>(ready.worker())];
        slot.idle = true;
        slot.warm = ready.warm();
        slot.starting = false;
        Assign();
      },
      [this](const v1::ProcessUp& up) {
        Slot& slot = slots_[static_cast<size_t>(up.worker())];
        slot.warm = true;
        slot.starting = false;
        Assign();
      },
      [this](v1::ModelEvent& event) {
        if (Slot* slot = FindRunning(event.experiment(), event.trial()))
          self_->send(slot->trial->owner, std::move(event));
      },
      [this](const v1::TrialEnded& ended) {
        Slot* const slot = FindRunning(ended.experiment(), ended.trial());
        if (slot == nullptr) return;
        Worked(*slot);
        slot->trial.reset();
        queue_.Finished(ended.experiment());
      },
      [this](v1::TrialSpec& spec, const TrialOwnerActor& owner) {
        QueuedTrial trial{std::move(spec), owner};
        if (!AnyDeviceLeft()) return LoseTrial(trial);
        if (owners_.emplace(owner.address(), trial.spec.experiment()).second) self_->monitor(owner);
        queue_.Push(std::move(trial));
        Assign();
      },
      [this](const v1::CancelExperiment& cancel) { Cancel(cancel.experiment()); },
      [this](const v1::StopModel& stop) {
        if (const Slot* const slot = FindRunning(stop.experiment(), stop.trial())) {
          return self_->send(slot->worker, stop);
        }
        const auto stopped = queue_.RemoveModel(stop.experiment(), stop.trial(), stop.model());
        if (stopped.has_value()) EndTrial(*stopped, v1::STOPPED_EARLY);
      },
      [this](v1::EventsRecorded& recorded) {
        const Slot* const slot = FindRunning(recorded.experiment(), recorded.trial());
        if (slot != nullptr) self_->send(slot->worker, std::move(recorded));
      },
      [this](v1::Discover& request) -> caf::result<v1::Discovered> {
        if (!AnyDeviceLeft()) return ToCafError(last_failure_);
        discoveries_.push_back({std::move(request), self_->make_response_promise<v1::Discovered>(), 0});
        const auto promise = discoveries_.back().promise;
        Assign();
        return promise;
      },
      [this](const v1::ListDevices&) {
        v1::DeviceList list;
        for (const Slot& slot : slots_) *list.add_devices() = slot.device;
        return list;
      },
      [this](deadline_atom, int32_t slot) { Spawn(static_cast<size_t>(slot)); },
  };
}

void TrainingServiceState::Spawn(size_t slot) {
  slots_[slot].worker = options_.spawn_worker(static_cast<int>(slot), slots_[slot].device, WorkerOwnerActor(self_));
  self_->monitor(slots_[slot].worker);
}

TrainingServiceState::Slot* TrainingServiceState::NextWorker() {
  Slot* cold = nullptr;
  int starting = 0;
  for (Slot& slot : slots_) {
    if (slot.idle && slot.warm) return &slot;
    if (slot.idle && cold == nullptr) cold = &slot;
    starting += slot.starting;
  }
  return starting < options_.max_starting ? cold : nullptr;
}

void TrainingServiceState::Assign() {
  while (!discoveries_.empty() || !queue_.empty()) {
    Slot* const slot = NextWorker();
    if (slot == nullptr) return;
    slot->idle = false;
    slot->starting = !slot->warm;
    if (!discoveries_.empty()) {
      slot->discovery = std::move(discoveries_.front());
      discoveries_.pop_front();
      StartDiscovery(*slot);
    } else {
      slot->trial = queue_.Pop();
      self_->send(slot->worker, slot->trial->spec);
    }
  }
}

void TrainingServiceState::StartDiscovery(Slot& slot) {
  // Each step of it has a deadline at the worker. Slots stay where they are.
  self_->request(slot.worker, caf::infinite, slot.discovery->request)
      .then(
          [&slot](v1::Discovered& discovered) {
            Worked(slot);
            slot.discovery->promise.deliver(std::move(discovered));
            slot.discovery.reset();
          },
          [](const caf::error&) {
            // The worker is gone: OnWorkerDown has, or will have, the discovery.
          });
}

void TrainingServiceState::Worked(Slot& slot) {
  slot.works = true;
  slot.downs = 0;
}

void TrainingServiceState::Cancel(const std::string& experiment) {
  for (const QueuedTrial& trial : queue_.Remove(experiment)) EndTrial(trial, v1::CANCELED);
  for (const Slot& slot : slots_) {
    if (!slot.trial.has_value() || slot.trial->spec.experiment() != experiment) continue;
    v1::CancelTrial cancel_trial;
    cancel_trial.set_experiment(experiment);
    cancel_trial.set_trial(slot.trial->spec.trial());
    self_->send(slot.worker, cancel_trial);
  }
}

void TrainingServiceState::OnDown(const caf::down_msg& down) {
  if (const auto owner = owners_.find(down.source); owner != owners_.end()) {
    Cancel(owner->second);
    owners_.erase(owner);
    return;
  }
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& candidate) {
    return candidate.worker != nullptr && candidate.worker.address() == down.source;
  });
  if (slot == slots_.end()) return;
  last_failure_ = Annotate(FromCafError(down.reason), "the worker went down");
  OnWorkerDown(static_cast<size_t>(slot - slots_.begin()));
}

void TrainingServiceState::OnWorkerDown(size_t number) {
  Slot& slot = slots_[number];
  slot.worker = nullptr;
  slot.idle = slot.warm = slot.starting = false;
  slot.given_up = ++slot.downs >= kMaxFirstWorkers && !slot.works;
  const std::chrono::seconds delay = RestartDelay(slot.downs);
  spdlog::warn("{}: {}; {}", DeviceName(slot.device), std::string(last_failure_.message()),
               slot.given_up        ? "it is given up"
               : delay.count() == 0 ? "trying again"
                                    : absl::StrCat("trying again in ", delay.count(), " s"));
  if (!slot.given_up && delay.count() == 0) Spawn(number);
  if (!slot.given_up && delay.count() > 0) {
    self_->delayed_send(self_, delay, deadline_atom_v, static_cast<int32_t>(number));
  }

  const std::optional<QueuedTrial> trial = std::exchange(slot.trial, std::nullopt);
  if (trial.has_value()) {
    queue_.Finished(trial->spec.experiment());
    LoseTrial(*trial);
  }
  if (std::optional<Discovery> discovery = std::exchange(slot.discovery, std::nullopt)) {
    // Any other error (there is no such program) will not pass.
    if (absl::IsUnavailable(last_failure_) && ++discovery->lost < kMaxDiscoveryLost) {
      discoveries_.push_front(*std::move(discovery));
    } else {
      discovery->promise.deliver(ToCafError(last_failure_));
    }
  }
  if (AnyDeviceLeft()) return Assign();
  LoseAll();
}

void TrainingServiceState::LoseAll() {
  while (const std::optional<QueuedTrial> waiting = queue_.Pop()) {
    queue_.Finished(waiting->spec.experiment());
    LoseTrial(*waiting);
  }
  for (Discovery& discovery : discoveries_) discovery.promise.deliver(ToCafError(last_failure_));
  discoveries_.clear();
}

void TrainingServiceState::LoseTrial(const QueuedTrial& trial) {
  v1::Failure failure;
  failure.set_reason(v1::WORKER_LOST);
  failure.set_message(std::string(last_failure_.message()));
  EndTrial(trial, v1::LOST, failure, v1::WORKER_DOWN);
}

void TrainingServiceState::EndTrial(const QueuedTrial& trial, v1::Outcome outcome, const v1::Failure& failure,
                                    v1::LostCause lost_cause) {
  // The attempt's own events, if there were any, have lower numbers; nobody knows how many.
  constexpr int kLastSequence = 1 << 30;
  for (const v1::TrialModel& model : trial.spec.models()) {
    self_->send(trial.owner, EndedEvent(trial.spec, model, kLastSequence, outcome, failure, lost_cause));
  }
}

TrainingServiceState::Slot* TrainingServiceState::FindRunning(const std::string& experiment, int trial) {
  for (Slot& slot : slots_) {
    if (slot.trial.has_value() && slot.trial->spec.trial() == trial && slot.trial->spec.experiment() == experiment) {
      return &slot;
    }
  }
  return nullptr;
}

bool TrainingServiceState::AnyDeviceLeft() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return !slot.given_up; });
}

}  // namespace lanista
