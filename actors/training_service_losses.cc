// What becomes of devices that go down and of the work that they had, and of trials that nodes do not bring back.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "actors/model_events.h"
#include "actors/training_service.h"
#include "actors/worker_restart_delay.h"
#include "src/base/device_name.h"
#include "src/base/logging.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// A trial that came back so often without having begun is lost: then at least its journal says why it does not begin.
constexpr int kMaxReturned = 10;

}  // namespace

void TrainingServiceState::Remove(Slot& slot) {
  LogInfo("{}{} leaves: {}", NodeTag(slot.device.node()), DeviceName(slot.device),
          std::string(last_failure_.message()));
  pool_.Remove(slot);
}

void TrainingServiceState::OnDown(const caf::down_msg& down) {
  if (shares_.Forget(down.source)) PoolChanged();
  if (const auto owner = owners_.find(down.source); owner != owners_.end()) {
    const std::string experiment = owner->second;
    owners_.erase(owner);
    Cancel(experiment, down.source);
    for (const auto& [trial, worker] : ended_.OwnerGone(experiment, down.source)) Release(experiment, trial, worker);
    logged_.erase(experiment);
    history_.Forget(experiment);
    // An engine that was stopped may end after its experiment went on.
    const bool goes_on = std::any_of(owners_.begin(), owners_.end(),
                                     [&experiment](const auto& other) { return other.second == experiment; });
    if (!goes_on) history_.ForgetData(experiment);
    return;
  }
  const auto number = numbers_.find(down.source);
  if (number == numbers_.end()) return LoseReturning(returning_.OnNodeGone(down.source), "has gone");
  const int worker = number->second;
  numbers_.erase(number);
  last_failure_ = Annotate(FromCafError(down.reason), "the worker went down");
  OnWorkerDown(worker);
}

void TrainingServiceState::OnWorkerDown(int number) {
  Slot& slot = pool_.at(number);
  pool_.WorkerDown(slot);
  std::optional<QueuedTrial> trial = std::exchange(slot.trial, std::nullopt);
  std::optional<QueuedDiscovery> discovery = std::exchange(slot.discovery, std::nullopt);
  if (trial.has_value()) {
    ForgetRunning(trial->spec);
    const std::string tag = LogTag(trial->spec.experiment(), trial->spec.trial(), slot.device.node());
    // What became of a trial that began on a node was said before the worker went down: this one did not begin.
    if (slot.local) {
      LogInfo("{}the trial on {} was lost with its worker", tag, DeviceName(slot.device));
      options_.telemetry->trials_lost.Add();
      LoseTrial(*trial, v1::ModelEnded::WORKER_DOWN);
    } else {
      LogInfo("{}the trial had not begun on {}, which is gone: it is queued again", tag, DeviceName(slot.device));
      options_.telemetry->trials_returned.Add();
      ReturnTrial(*std::move(trial));
    }
  }
  if (discovery.has_value()) LoseDiscovery(slot, *std::move(discovery));
  if (slot.local) {
    Restart(slot);
  } else {
    Remove(slot);
  }
  if (CanNeverRun()) return LoseAll();
  Assign();
}

void TrainingServiceState::ReturnTrial(QueuedTrial trial) {
  if (trial.canceled) return EndTrial(trial, v1::ModelEnded::CANCELED);
  NoteRefusal(trial.spec.experiment());
  if (++trial.returned > kMaxReturned) return LoseTrial(trial, v1::ModelEnded::NODE_LEFT);
  const std::string experiment = trial.spec.experiment();
  const int number = trial.spec.trial();
  const std::set<int> stopped = std::exchange(trial.stopped, {});
  queue_.Return(std::move(trial));
  for (const int model : stopped) {
    if (const auto removed = queue_.RemoveModel(experiment, number, model))
      EndTrial(*removed, v1::ModelEnded::STOPPED_EARLY);
  }
}

void TrainingServiceState::NoteRefusal(const std::string& experiment) {
  const std::chrono::seconds delay =
      history_.AddRefusal(experiment, std::string(last_failure_.message()), self_->clock().now());
  if (delay.count() > 0) self_->delayed_send(self_, delay, caf::tick_atom_v, experiment);
}

void TrainingServiceState::Restart(Slot& slot) {
  const bool given_up = !options_.open && slot.downs >= DevicePool::kMaxFirstWorkers && !slot.works;
  const std::chrono::seconds delay = RestartDelay(slot.downs);
  LogWarning("{}{}: {}; {}", NodeTag(slot.device.node()), DeviceName(slot.device), std::string(last_failure_.message()),
             given_up             ? "it is given up"
             : delay.count() == 0 ? "trying again"
                                  : absl::StrCat("trying again in ", delay.count(), " s"));
  if (given_up) return pool_.GiveUp(slot);
  if (delay.count() == 0) return Spawn(slot);
  self_->delayed_send(self_, delay, deadline_atom_v, static_cast<int32_t>(slot.number));
}

void TrainingServiceState::LoseAll() {
  while (const std::optional<QueuedTrial> waiting = queue_.Pop()) {
    queue_.Finished(waiting->spec.experiment());
    LoseTrial(*waiting, v1::ModelEnded::WORKER_DOWN);
  }
  for (QueuedDiscovery& discovery : discoveries_) discovery.promise.deliver(ToCafError(last_failure_));
  discoveries_.clear();
  CountQueue();
}

void TrainingServiceState::LoseTrial(const QueuedTrial& trial, v1::ModelEnded::LostCause cause) {
  v1::Failure failure;
  failure.set_reason(v1::Failure::WORKER_LOST);
  failure.set_message(std::string(last_failure_.message()));
  EndTrial(trial, v1::ModelEnded::LOST, failure, cause);
}

void TrainingServiceState::EndTrial(const QueuedTrial& trial, v1::ModelEnded::Outcome outcome,
                                    const v1::Failure& failure, v1::ModelEnded::LostCause lost_cause) {
  // The attempt's own events, if there were any, have lower numbers; nobody knows how many.
  constexpr int kLastSequence = 1 << 30;
  for (const v1::TrialModel& model : trial.spec.models()) {
    self_->send(trial.owner, EndedEvent(trial.spec, model, kLastSequence, outcome, failure, lost_cause));
  }
}

void TrainingServiceState::LoseReturning(const ReturningTrials::Lost& lost, const std::string& why) {
  for (const ReturningTrials::Trial& trial : lost) {
    const v1::TrialSpec& spec = trial.queued.spec;
    const std::string& node = trial.device.node();
    LogInfo("{}node {} {}", LogTag(spec.experiment(), spec.trial(), node), node, why);
    ForgetReturning(trial);
    v1::Failure failure;
    failure.set_reason(v1::Failure::WORKER_LOST);
    failure.set_message(absl::StrCat("the head was restarted, and node ", node, " ", why));
    QueuedTrial stopped = trial.queued, rest = trial.queued;
    stopped.spec.clear_models();
    rest.spec.clear_models();
    for (const v1::TrialModel& model : spec.models()) {
      *(trial.queued.stopped.count(model.model()) > 0 ? stopped : rest).spec.add_models() = model;
    }
    EndTrial(stopped, v1::ModelEnded::STOPPED_EARLY);
    if (trial.queued.canceled) {
      EndTrial(rest, v1::ModelEnded::CANCELED);
    } else {
      EndTrial(rest, v1::ModelEnded::LOST, failure, v1::ModelEnded::HEAD_ENDED);
    }
  }
  if (!lost.empty()) PoolChanged();
}

void TrainingServiceState::ForgetReturning(const ReturningTrials::Trial& trial) {
  queue_.Finished(trial.queued.spec.experiment());
  options_.telemetry->trials_running.Add(-1);
}

}  // namespace lanista
