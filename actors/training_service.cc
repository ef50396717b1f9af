#include "actors/training_service.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/device_name.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/files/assignment_inputs.h"

namespace lanista {
namespace {

// A device that is there for longer is there for ever.
constexpr std::chrono::seconds kLongestLife = std::chrono::hours(24 * 365);

}  // namespace

TrainingServiceSelf::behavior_type TrainingService(TrainingServiceSelf::stateful_pointer<TrainingServiceState> self,
                                                   TrainingServiceOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

TrainingServiceSelf::behavior_type TrainingServiceState::MakeBehavior(TrainingServiceOptions options) {
  options_ = std::move(options);
  absent_ = options_.nodes;
  pool_.Begin(options_.max_starting, options_.telemetry);
  self_->set_down_handler([this](const caf::down_msg& down) { OnDown(down); });
  for (v1::Device& device : std::exchange(options_.devices, {})) {
    Spawn(pool_.Add(std::move(device), /*local=*/true, options_.data, options_.labels));
  }
  return {
      [this](const v1::WorkerReady& ready) { OnReady(ready); },
      [this](const v1::ProcessUp& up) { OnProcessUp(up); },
      [this](v1::ModelEvent& event) { OnModelEvent(std::move(event)); },
      [this](const v1::TrialEnded& ended) { OnTrialEnded(ended); },
      [this](v1::TrialSpec& spec, const TrialOwnerActor& owner) { OnTrial(std::move(spec), owner); },
      [this](const v1::CancelExperiment& cancel) {
        if (cancel.discovery()) return CancelDiscovery(cancel.experiment());
        Cancel(cancel.experiment());
      },
      [this](const v1::StopModel& stop) { OnStop(stop); },
      [this](v1::EventsRecorded& recorded) { OnRecorded(std::move(recorded)); },
      [this](const v1::ReturningTrials& trials, const TrialOwnerActor& owner) { OnReturning(trials, owner); },
      [this](const v1::NodeReturned& returned, const WorkerActor& worker) { return OnNodeReturned(returned, worker); },
      [this](v1::Discover& request) { return OnDiscover(std::move(request)); },
      [this](const v1::ListDevices& list) { return pool_.DevicesOf(list); },
      [this](v1::DeviceJoined& joined, const v1::NodeOffer& offer, const WorkerActor& worker) {
        return OnJoined(std::move(joined), offer, worker);
      },
      [this](const v1::HoldNode& hold) {
        if (pool_.Hold(hold)) Assign();
      },
      [this](v1::WantDevices& wants, const DeviceUserActor& user) { OnWant(std::move(wants), user); },
      [this](const v1::AskWaiting& ask) {
        v1::Waiting waiting;
        waiting.set_because(waiting_.LackingFor(ask.experiment(), self_->clock().now()));
        return waiting;
      },
      [this](v1::ExpectDevices& expect) { return OnExpect(std::move(expect)); },
      [this](deadline_atom, int32_t number) {
        if (Slot* const slot = pool_.Find(number)) Spawn(*slot);
      },
      [this](caf::tick_atom) { OnPoolChanged(); },
      [this](deadline_atom, const std::string& experiment) {
        LoseReturning(returning_.Overdue(experiment), "did not return in time");
      },
      [this](caf::tick_atom, const std::string&) { Assign(); },
  };
}

TrainingServiceState::~TrainingServiceState() {
  // Nothing waits here, or runs, any more.
  Telemetry& telemetry = *options_.telemetry;
  for (const auto& trials : running_) telemetry.trials_running.Add(-static_cast<int64_t>(trials.second.size()));
  telemetry.trials_running.Add(-static_cast<int64_t>(returning_.size()));
  telemetry.trials_queued.Set(0);
  telemetry.discoveries_queued.Set(0);
  telemetry.oldest_queued.Set(std::nullopt);
}

void TrainingServiceState::CountQueue() {
  Telemetry& telemetry = *options_.telemetry;
  telemetry.trials_queued.Set(static_cast<int64_t>(queue_.size()));
  telemetry.oldest_queued.Set(queue_.OldestSince());
  telemetry.discoveries_queued.Set(static_cast<int64_t>(discoveries_.size()));
}

// ---- Devices ----

void TrainingServiceState::Spawn(Slot& slot) {
  SetWorker(slot, options_.spawn_worker(slot.number, slot.device, WorkerOwnerActor(self_)));
}

void TrainingServiceState::SetWorker(Slot& slot, WorkerActor worker) {
  numbers_[worker.address()] = slot.number;
  self_->monitor(worker);
  pool_.SetWorker(slot, std::move(worker));
}

v1::DeviceAdded TrainingServiceState::OnJoined(v1::DeviceJoined joined, const v1::NodeOffer& offer,
                                               WorkerActor worker) {
  Slot& slot = pool_.Add(std::move(*joined.mutable_device()), /*local=*/false,
                         {offer.data().begin(), offer.data().end()}, LabelsOf(offer.labels()));
  if (!slot.device.prepares()) expected_.Joined(slot.device, slot.labels);
  LogInfo("{}{} joins", NodeTag(slot.device.node()), DeviceName(slot.device));
  if (joined.has_ends()) {
    const auto left = absl::ToChronoSeconds(ToTime(joined.ends()) - absl::Now());
    // In whole seconds, so that the devices of a node are of one kind.
    slot.ends = std::chrono::time_point_cast<std::chrono::seconds>(self_->clock().now()) +
                std::clamp(left, std::chrono::seconds(0), kLongestLife);
    const absl::Time began = offer.has_began() ? ToTime(offer.began()) : absl::Now();
    slot.lifetime = absl::ToChronoMilliseconds(ToTime(joined.ends()) - began);
  }
  pool_.Learn(slot, joined.program());
  SetWorker(slot, std::move(worker));
  v1::DeviceAdded added;
  added.set_worker(slot.number);
  return added;
}

void TrainingServiceState::OnReady(const v1::WorkerReady& ready) {
  Slot* const slot = pool_.Find(ready.worker());
  if (slot == nullptr || slot->worker == nullptr) return;
  pool_.WorkerReady(*slot, ready.warm());
  Assign();
}

void TrainingServiceState::OnProcessUp(const v1::ProcessUp& up) {
  Slot* const slot = pool_.Find(up.worker());
  if (slot == nullptr || slot->worker == nullptr) return;
  pool_.ProcessUp(*slot);
  Assign();
}

// ---- Work ----

void TrainingServiceState::OnTrial(v1::TrialSpec spec, const TrialOwnerActor& owner) {
  const std::string experiment = spec.experiment();
  QueuedTrial trial{std::move(spec), owner, self_->clock().now()};
  if (CanNeverRun()) return LoseTrial(trial, v1::ModelEnded::WORKER_DOWN);
  NoteOwner(owner, trial.spec);
  queue_.Push(std::move(trial));
  Assign();
  LogLacking(experiment);
}

void TrainingServiceState::NoteOwner(const TrialOwnerActor& owner, const v1::TrialSpec& trial) {
  if (!owners_.emplace(owner.address(), trial.experiment()).second) return;
  self_->monitor(owner);
  // It is the same for all of its trials.
  if (DataNames data = DataOf(trial); !data.empty()) {
    history_.SetData(trial.experiment(), std::move(data));
    PoolChanged();
  }
}

void TrainingServiceState::OnModelEvent(v1::ModelEvent event) {
  if (const Slot* const slot = FindRunning(event.experiment(), event.trial())) {
    if (event.has_ended()) LogEnd(event, slot->device);
    return self_->send(slot->trial->owner, std::move(event));
  }
  if (const ReturningTrials::Trial* const back = returning_.Find(event.experiment(), event.trial())) {
    if (event.has_ended()) LogEnd(event, back->device);
    self_->send(back->queued.owner, std::move(event));
  }
}

void TrainingServiceState::OnStop(const v1::StopModel& stop) {
  if (Slot* const slot = FindRunning(stop.experiment(), stop.trial())) {
    slot->trial->stopped.insert(stop.model());
    return self_->send(slot->worker, stop);
  }
  if (ReturningTrials::Trial* const back = returning_.Find(stop.experiment(), stop.trial())) {
    back->queued.stopped.insert(stop.model());
    if (back->worker != nullptr) return self_->send(back->worker, stop);
    // Nobody waits for a node that has nothing left to do.
    const auto& models = back->queued.spec.models();
    const bool all = std::all_of(models.begin(), models.end(), [&](const v1::TrialModel& model) {
      return back->queued.stopped.count(model.model()) > 0;
    });
    if (all) LoseReturning({returning_.Take(stop.experiment(), stop.trial())}, "need not return");
    return;
  }
  const auto stopped = queue_.RemoveModel(stop.experiment(), stop.trial(), stop.model());
  CountQueue();
  if (stopped.has_value()) EndTrial(*stopped, v1::ModelEnded::STOPPED_EARLY);
}

void TrainingServiceState::OnRecorded(v1::EventsRecorded recorded) {
  const bool all = recorded.model() == 0;
  if (Slot* const slot = FindRunning(recorded.experiment(), recorded.trial())) {
    slot->trial->recorded |= all;
    // Trial processes of this machine keep nothing.
    if (!all || !slot->local) self_->send(slot->worker, std::move(recorded));
    return;
  }
  if (ReturningTrials::Trial* const back = returning_.Find(recorded.experiment(), recorded.trial())) {
    back->queued.recorded |= all;
    if (back->worker != nullptr) self_->send(back->worker, std::move(recorded));
    return;
  }
  if (!all) return;
  const std::optional<WorkerActor> worker = ended_.Recorded(recorded.experiment(), recorded.trial());
  if (worker.has_value()) Release(recorded.experiment(), recorded.trial(), *worker);
}

void TrainingServiceState::AwaitJournal(const QueuedTrial& trial, const WorkerActor& worker) {
  if (trial.recorded) return;
  const v1::TrialSpec& spec = trial.spec;
  // Without its owner nobody writes it down.
  if (owners_.count(trial.owner.address()) == 0) return Release(spec.experiment(), spec.trial(), worker);
  ended_.Add(spec.experiment(), spec.trial(), worker, trial.owner.address());
}

void TrainingServiceState::Release(const std::string& experiment, int trial, const WorkerActor& worker) {
  v1::EventsRecorded recorded;
  recorded.set_experiment(experiment);
  recorded.set_trial(trial);
  self_->send(worker, std::move(recorded));
}

void TrainingServiceState::OnTrialEnded(const v1::TrialEnded& ended) {
  if (const ReturningTrials::Trial* const back = returning_.Find(ended.experiment(), ended.trial())) {
    if (back->worker == nullptr) return;
    const ReturningTrials::Trial trial = returning_.Take(ended.experiment(), ended.trial());
    ForgetReturning(trial);
    AwaitJournal(trial.queued, trial.worker);
    return options_.telemetry->trials_finished.Add();
  }
  Slot* const slot = FindRunning(ended.experiment(), ended.trial());
  if (slot == nullptr) return;
  DevicePool::WorkEnded(*slot);
  if (!slot->local) AwaitJournal(*slot->trial, returning_.WorkerOf(slot->device.node()).value_or(slot->worker));
  ForgetRunning(slot->trial->spec);
  history_.ForgetRefusals(ended.experiment());
  // Nobody asks for those of an experiment that has ended.
  if (owners_.count(slot->trial->owner.address()) > 0) {
    history_.AddDuration(ended.experiment(),
                         std::chrono::duration_cast<std::chrono::milliseconds>(self_->clock().now() - slot->assigned));
  }
  slot->trial.reset();
  options_.telemetry->trials_finished.Add();
}

void TrainingServiceState::ForgetRunning(const v1::TrialSpec& trial) {
  const auto trials = running_.find(trial.experiment());
  trials->second.erase(trial.trial());
  if (trials->second.empty()) running_.erase(trials);
  queue_.Finished(trial.experiment());
  options_.telemetry->trials_running.Add(-1);
}

void TrainingServiceState::LogEnd(const v1::ModelEvent& event, const v1::Device& device) {
  const v1::ModelEnded& ended = event.ended();
  if (ended.outcome() != v1::ModelEnded::FAILED && ended.outcome() != v1::ModelEnded::LOST) return;
  // The message may be a user's exception.
  LogInfo("{}attempt {} of model {} on {} ended {} ({}): {}", LogTag(event.experiment(), event.trial(), device.node()),
          event.attempt(), event.model(), DeviceName(device), v1::ModelEnded::Outcome_Name(ended.outcome()),
          v1::Failure::Reason_Name(ended.failure().reason()), OneLine(BoundedMessage(ended.failure().message())));
}

void TrainingServiceState::Assign() {
  const absl::Cleanup count = [this] { CountQueue(); };
  const TimePoint now = self_->clock().now();
  AssignDiscoveries(now);
  while (!queue_.empty() && pool_.AnyIdle()) {
    std::optional<QueuedTrial> trial =
        queue_.Pop([&](const v1::TrialSpec& spec) { return placement_.IdleFor(spec, now) != nullptr; });
    if (!trial.has_value()) return;
    Slot* const slot = placement_.IdleFor(trial->spec, now);
    pool_.Occupy(*slot);
    running_[trial->spec.experiment()][trial->spec.trial()] = slot->number;
    options_.telemetry->trials_started.Add();
    options_.telemetry->trials_running.Add(1);
    slot->assigned = self_->clock().now();
    slot->trial = *std::move(trial);
    self_->send(slot->worker, slot->trial->spec);
  }
}

void TrainingServiceState::Cancel(const std::string& experiment, const caf::actor_addr& owner) {
  const auto is_meant = [&owner](const QueuedTrial& trial) { return !owner || trial.owner.address() == owner; };
  for (QueuedTrial& trial : queue_.Remove(experiment)) {
    if (is_meant(trial)) {
      EndTrial(trial, v1::ModelEnded::CANCELED);
    } else {
      queue_.Push(std::move(trial));
    }
  }
  CountQueue();
  CancelReturning(experiment, owner);
  const auto trials = running_.find(experiment);
  if (trials == running_.end()) return;
  for (const auto& [trial, number] : trials->second) {
    Slot& slot = *pool_.Find(number);
    if (!is_meant(*slot.trial)) continue;
    v1::CancelTrial cancel_trial;
    cancel_trial.set_experiment(experiment);
    cancel_trial.set_trial(trial);
    slot.trial->canceled = true;
    self_->send(slot.worker, cancel_trial);
  }
}

TrainingServiceState::Slot* TrainingServiceState::FindRunning(const std::string& experiment, int trial) {
  const auto trials = running_.find(experiment);
  if (trials == running_.end()) return nullptr;
  const auto number = trials->second.find(trial);
  return number == trials->second.end() ? nullptr : pool_.Find(number->second);
}

// ---- Trials that nodes bring back ----

void TrainingServiceState::OnReturning(const v1::ReturningTrials& trials, const TrialOwnerActor& owner) {
  const std::string& experiment = trials.experiment();
  for (int i = 0; i < trials.trials_size(); ++i) {
    queue_.Began(experiment);
    options_.telemetry->trials_running.Add(1);
  }
  if (!trials.trials().empty()) {
    NoteOwner(owner, trials.trials(0).spec());
    self_->delayed_send(self_, options_.return_limit, deadline_atom_v, experiment);
  }
  LoseReturning(returning_.Add(trials, owner), "has returned without it");
  LogLacking(experiment);
}

caf::result<v1::KeptTrials> TrainingServiceState::OnNodeReturned(const v1::NodeReturned& returned,
                                                                 const WorkerActor& worker) {
  self_->monitor(worker);
  absent_.erase(returned.node());
  auto promise = self_->make_response_promise<v1::KeptTrials>();
  LoseReturning(
      returning_.OnNode(returned, worker, [promise](v1::KeptTrials kept) mutable { promise.deliver(std::move(kept)); }),
      "has returned without it");
  // What waits for a device might wait for this node's, which are busy with what the experiment wants back.
  AnswerNeedless();
  CountQueue();
  PoolChanged();
  return promise;
}

void TrainingServiceState::CancelReturning(const std::string& experiment, const caf::actor_addr& owner) {
  ReturningTrials::Lost waiting;
  std::vector<int> numbers;
  for (const auto& entry : returning_.Of(experiment)) numbers.push_back(entry.first);
  for (const int number : numbers) {
    ReturningTrials::Trial& trial = *returning_.Find(experiment, number);
    if (owner && trial.queued.owner.address() != owner) continue;
    trial.queued.canceled = true;
    if (trial.worker == nullptr) {
      waiting.push_back(returning_.Take(experiment, number));
      continue;
    }
    v1::CancelTrial cancel;
    cancel.set_experiment(experiment);
    cancel.set_trial(number);
    self_->send(trial.worker, std::move(cancel));
  }
  LoseReturning(waiting, "need not return");
}

// ---- Shares, and what is lacking ----

void TrainingServiceState::OnWant(v1::WantDevices wants, const DeviceUserActor& user) {
  if (shares_.Want(std::move(wants), user)) self_->monitor(user);
  PoolChanged();
}

v1::DeviceDemand TrainingServiceState::OnExpect(v1::ExpectDevices expect) {
  v1::DeviceDemand demand;
  demand.set_waiting(waiting_.CountFor(expect, self_->clock().now()));
  if (expected_.Set(std::move(expect))) PoolChanged();
  return demand;
}

void TrainingServiceState::PoolChanged() {
  // A node brings many devices.
  if (!std::exchange(pool_changed_, true)) self_->send(self_, caf::tick_atom_v);
}

void TrainingServiceState::OnPoolChanged() {
  pool_changed_ = false;
  for (auto& [user, share] : shares_.Divide(pool_, expected_, history_)) self_->send(user, std::move(share));
  std::set<std::string> waiting = waiting_.Experiments();
  for (const auto& entry : logged_) waiting.insert(entry.first);
  for (const std::string& experiment : waiting) LogLacking(experiment);
}

void TrainingServiceState::LogLacking(const std::string& experiment) {
  // Elsewhere the devices themselves say what is wrong, and nothing waits for others.
  if (!options_.open || experiment.empty()) return;
  const std::string lacking = waiting_.LackingFor(experiment, self_->clock().now());
  const auto logged = logged_.find(experiment);
  if (lacking == (logged == logged_.end() ? "" : logged->second)) return;
  if (lacking.empty()) {
    LogInfo("{}waits no longer", LogTag(experiment));
    logged_.erase(logged);
  } else {
    LogWarning("{}waits for {}", LogTag(experiment), lacking);
    logged_[experiment] = lacking;
  }
}

}  // namespace lanista
