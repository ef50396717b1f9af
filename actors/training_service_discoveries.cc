// Discoveries and conversions of a training service: which worker does them, and when they are answered.
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "actors/training_service.h"
#include "src/base/status.h"
#include "src/files/assignment_inputs.h"

namespace lanista {
namespace {

// What a discovery hears that is not needed.
absl::Status NodesHaveReturned() {
  return absl::AbortedError("a node has returned with trials of the experiment: its space is known");
}

}  // namespace

caf::result<v1::Discovered> TrainingServiceState::OnDiscover(v1::Discover request) {
  if (CanNeverRun()) return ToCafError(last_failure_);
  const std::string experiment = request.experiment();
  if (!experiment.empty()) {
    returning_.Expect(experiment);
    // The node waits for the answer, and the discovery might wait for that node's devices.
    if (returning_.is_awaited(experiment)) return ToCafError(NodesHaveReturned());
  }
  DataNames data = DataOf(request);
  discoveries_.push_back({std::move(request), self_->make_response_promise<v1::Discovered>(), std::move(data), 0, {}});
  const auto promise = discoveries_.back().promise;
  Assign();
  LogLacking(experiment);
  return promise;
}

void TrainingServiceState::AssignDiscoveries(TimePoint now) {
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    // A device first: its process is then warm for the trials that follow. A conversion is followed by none.
    const bool converts = discovery->request.has_convert();
    Slot* slot = converts ? nullptr : placement_.IdleForDiscovery(*discovery, now);
    if (slot == nullptr) slot = placement_.PlaceFor(*discovery, now);
    if (slot == nullptr && converts) {
      if (const absl::Status checked = placement_.CheckConversion(*discovery); !checked.ok()) {
        discovery->promise.deliver(ToCafError(checked));
        discovery = discoveries_.erase(discovery);
        continue;
      }
    }
    if (slot == nullptr) {
      // Others may do without the data that it waits for.
      ++discovery;
      continue;
    }
    pool_.Occupy(*slot);
    slot->discovery = std::move(*discovery);
    discovery = discoveries_.erase(discovery);
    StartDiscovery(*slot);
  }
}

void TrainingServiceState::StartDiscovery(Slot& slot) {
  // Each step of it has a deadline at the worker.
  self_->request(slot.worker, caf::infinite, slot.discovery->request)
      .then(
          [this, number = slot.number](v1::Discovered& discovered) {
            Slot* const slot = pool_.Find(number);
            if (slot == nullptr || !slot->discovery.has_value()) return;
            DevicePool::WorkEnded(*slot);
            pool_.Learn(*slot, discovered.program());
            history_.ForgetRefusals(AskerOf(slot->discovery->request));
            QueuedDiscovery discovery = *std::exchange(slot->discovery, std::nullopt);
            if (!discovery.canceled && placement_.NeedsDevice(*slot, discovered)) {
              discovery.needs_device = true;
              discoveries_.push_front(std::move(discovery));
            } else {
              discovery.promise.deliver(std::move(discovered));
            }
            if (CanNeverRun()) return LoseAll();
            // Now it is known which trials may run there.
            Assign();
          },
          [this, number = slot.number](const caf::error& error) { OnDiscoveryFailed(number, error); });
}

void TrainingServiceState::OnDiscoveryFailed(int number, const caf::error& error) {
  // Where CAF says that the worker is gone, OnWorkerDown has, or will have, the discovery, and why.
  if (!IsStatus(error)) return;
  Slot* const slot = pool_.Find(number);
  if (slot == nullptr || !slot->discovery.has_value()) return;
  last_failure_ = FromCafError(error);
  LoseDiscovery(*slot, *std::exchange(slot->discovery, std::nullopt));
  Assign();
}

void TrainingServiceState::AnswerNeedless() {
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    if (!returning_.is_awaited(discovery->request.experiment())) {
      ++discovery;
      continue;
    }
    discovery->promise.deliver(ToCafError(NodesHaveReturned()));
    discovery = discoveries_.erase(discovery);
  }
}

void TrainingServiceState::CancelDiscovery(const std::string& experiment) {
  history_.ForgetRefusals(experiment);
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    if (!IsOf(discovery->request, experiment)) {
      ++discovery;
      continue;
    }
    discovery->promise.deliver(ToCafError(absl::CancelledError("the experiment was stopped before it began")));
    discovery = discoveries_.erase(discovery);
  }
  for (auto& [number, slot] : pool_.slots()) {
    if (!slot.discovery.has_value()) continue;
    QueuedDiscovery& discovery = *slot.discovery;
    if (!IsOf(discovery.request, experiment)) continue;
    discovery.canceled = true;
    v1::CancelTrial cancel;
    cancel.set_experiment(discovery.request.experiment());
    self_->send(slot.worker, std::move(cancel));
  }
  CountQueue();
  logged_.erase(experiment);
  returning_.GiveUp(experiment);
}

void TrainingServiceState::LoseDiscovery(const Slot& slot, QueuedDiscovery discovery) {
  const bool converts = discovery.request.has_convert();
  const bool tries_again = CountFailure(discovery, slot.local, slot.device.node(), last_failure_);
  if (tries_again) {
    if (!converts && IsBlameless(slot.local, last_failure_)) NoteRefusal(AskerOf(discovery.request));
    // Where no other place is left for a conversion, Assign says so.
    discoveries_.push_front(std::move(discovery));
  } else {
    history_.ForgetRefusals(AskerOf(discovery.request));
    discovery.promise.deliver(ToCafError(converts ? absl::UnavailableError(last_failure_.message()) : last_failure_));
  }
}

}  // namespace lanista
