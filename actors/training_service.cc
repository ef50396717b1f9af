#include "actors/training_service.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "actors/model_events.h"
#include "spdlog/spdlog.h"

namespace lanista {
namespace {

// A device whose worker goes down more often is given up.
constexpr int kMaxRestarts = 3;

}  // namespace

TrainingServiceActor::behavior_type TrainingService(TrainingServiceActor::stateful_pointer<TrainingServiceState> self,
                                                    std::vector<v1::Device> devices, SpawnWorker spawn_worker) {
  return self->state.MakeBehavior(std::move(devices), std::move(spawn_worker));
}

TrainingServiceActor::behavior_type TrainingServiceState::MakeBehavior(std::vector<v1::Device> devices,
                                                                       SpawnWorker spawn_worker) {
  spawn_worker_ = std::move(spawn_worker);
  self_->set_down_handler([this](const caf::down_msg& down) { OnWorkerDown(down); });
  slots_.resize(devices.size());
  for (size_t slot = 0; slot < devices.size(); ++slot) {
    slots_[slot].device = std::move(devices[slot]);
    Spawn(slot);
  }
  return {
      [this](const v1::WorkerReady& ready) {
        slots_[static_cast<size_t>(ready.worker())].idle = true;
        Assign();
      },
      [this](v1::ModelEvent& event) {
        if (Slot* slot = FindRunning(event.experiment(), event.trial()))
          self_->send(slot->trial->owner, std::move(event));
      },
      [this](const v1::TrialEnded& ended) {
        Slot* const slot = FindRunning(ended.experiment(), ended.trial());
        if (slot == nullptr) return;
        slot->trial.reset();
        queue_.Finished(ended.experiment());
      },
      [this](v1::TrialSpec& spec, const TrialOwnerActor& owner) {
        QueuedTrial trial{std::move(spec), owner};
        if (!AnyWorkerLeft()) {
          v1::Failure failure;
          failure.set_reason(v1::WORKER_LOST);
          failure.set_message(last_failure_);
          return EndTrial(trial, v1::LOST, failure);
        }
        queue_.Push(std::move(trial));
        Assign();
      },
      [this](const v1::CancelExperiment& cancel) {
        for (const QueuedTrial& trial : queue_.Remove(cancel.experiment())) EndTrial(trial, v1::CANCELED);
        for (const Slot& slot : slots_) {
          if (!slot.trial.has_value() || slot.trial->spec.experiment() != cancel.experiment()) continue;
          v1::CancelTrial cancel_trial;
          cancel_trial.set_experiment(cancel.experiment());
          cancel_trial.set_trial(slot.trial->spec.trial());
          self_->send(slot.worker, std::move(cancel_trial));
        }
      },
      [this](v1::Discover& request) -> caf::result<v1::Discovered> {
        if (!AnyWorkerLeft()) return ToCafError(absl::UnavailableError(last_failure_));
        discoveries_.push_back({std::move(request), self_->make_response_promise<v1::Discovered>()});
        const auto promise = discoveries_.back().promise;
        Assign();
        return promise;
      },
      [this](const v1::ListDevices&) {
        v1::DeviceList list;
        for (const Slot& slot : slots_) *list.add_devices() = slot.device;
        return list;
      },
  };
}

void TrainingServiceState::Spawn(size_t slot) {
  slots_[slot].worker = spawn_worker_(static_cast<int>(slot), slots_[slot].device, WorkerOwnerActor(self_));
  self_->monitor(slots_[slot].worker);
}

void TrainingServiceState::Assign() {
  for (Slot& slot : slots_) {
    if (!slot.idle) continue;
    if (!discoveries_.empty()) {
      slot.idle = false;
      slot.discovery = std::move(discoveries_.front());
      discoveries_.pop_front();
      StartDiscovery(slot);
    } else if (std::optional<QueuedTrial> next = queue_.Pop()) {
      slot.idle = false;
      slot.trial = std::move(next);
      self_->send(slot.worker, slot.trial->spec);
    } else {
      return;
    }
  }
}

void TrainingServiceState::StartDiscovery(Slot& slot) {
  // Each step of it has a deadline at the worker. Slots stay where they are.
  self_->request(slot.worker, caf::infinite, slot.discovery->request)
      .then(
          [&slot](v1::Discovered& discovered) {
            slot.discovery->promise.deliver(std::move(discovered));
            slot.discovery.reset();
          },
          [](const caf::error&) {
            // The worker is gone: OnWorkerDown has, or will have, the discovery.
          });
}

void TrainingServiceState::OnWorkerDown(const caf::down_msg& down) {
  const auto slot = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& candidate) {
    return candidate.worker != nullptr && candidate.worker.address() == down.source;
  });
  if (slot == slots_.end()) return;
  last_failure_ = absl::StrCat("the worker went down: ", std::string(FromCafError(down.reason).message()));
  spdlog::error("device {}: {}", slot - slots_.begin(), last_failure_);
  slot->idle = false;
  slot->worker = nullptr;
  const std::optional<QueuedTrial> trial = std::exchange(slot->trial, std::nullopt);
  if (slot->discovery.has_value()) discoveries_.push_front(*std::exchange(slot->discovery, std::nullopt));
  if (++slot->restarts <= kMaxRestarts) Spawn(static_cast<size_t>(slot - slots_.begin()));

  v1::Failure failure;
  failure.set_reason(v1::WORKER_LOST);
  failure.set_message(last_failure_);
  if (trial.has_value()) {
    queue_.Finished(trial->spec.experiment());
    EndTrial(*trial, v1::LOST, failure);
  }
  if (AnyWorkerLeft()) return Assign();
  while (const std::optional<QueuedTrial> waiting = queue_.Pop()) {
    queue_.Finished(waiting->spec.experiment());
    EndTrial(*waiting, v1::LOST, failure);
  }
  for (Discovery& discovery : discoveries_)
    discovery.promise.deliver(ToCafError(absl::UnavailableError(last_failure_)));
  discoveries_.clear();
}

void TrainingServiceState::EndTrial(const QueuedTrial& trial, v1::Outcome outcome, const v1::Failure& failure) {
  // The attempt's own events, if there were any, have lower numbers; nobody knows how many.
  constexpr int kLastSequence = 1 << 30;
  for (const v1::TrialModel& model : trial.spec.models()) {
    self_->send(trial.owner, EndedEvent(trial.spec, model, kLastSequence, outcome, failure));
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

bool TrainingServiceState::AnyWorkerLeft() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.worker != nullptr; });
}

}  // namespace lanista
