#include "actors/training_service.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "actors/delay.h"
#include "actors/model_events.h"
#include "engines/device_memory.h"
#include "spdlog/spdlog.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/files/assignment_inputs.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

// In a pool that is not open, a device on which no work was ever done is given up after so many workers.
constexpr int kMaxFirstWorkers = 4;
// A trial that came back so often without having begun is lost: then at least its journal says why it does not begin.
constexpr int kMaxReturned = 10;
// A discovery that so many workers of this machine, or nodes, went down with fails.
constexpr size_t kMaxDiscoveryLost = 3;

// Of so many trials of an experiment the longest tells how long the next one may take.
constexpr size_t kDurations = 20;
// A device that is there for longer is there for ever.
constexpr std::chrono::seconds kLongestLife = std::chrono::hours(24 * 365);

// Rounded down to five significant bits, so that a thousand devices are of a few kinds.
int64_t RoundedMemory(int64_t bytes) {
  int64_t unit = 1;
  while (bytes / unit >= 64) unit *= 2;
  return bytes / unit * unit;
}

// What a discovery hears that is not needed.
absl::Status NodesHaveReturned() {
  return absl::AbortedError("a node has returned with trials of the experiment: its space is known");
}

// Puts the number into the set, or takes it out.
void Put(std::set<int>& set, int number, bool in) {
  if (in) {
    set.insert(number);
  } else {
    set.erase(number);
  }
}

}  // namespace

TrainingServiceSelf::behavior_type TrainingService(TrainingServiceSelf::stateful_pointer<TrainingServiceState> self,
                                                   TrainingServiceOptions options) {
  return self->state.MakeBehavior(std::move(options));
}

TrainingServiceSelf::behavior_type TrainingServiceState::MakeBehavior(TrainingServiceOptions options) {
  options_ = std::move(options);
  absent_ = options_.nodes;
  self_->set_down_handler([this](const caf::down_msg& down) { OnDown(down); });
  for (v1::Device& device : std::exchange(options_.devices, {})) {
    Spawn(AddSlot(std::move(device), /*local=*/true, options_.data));
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
      [this](const v1::ListDevices& list) { return OnList(list); },
      [this](v1::DeviceJoined& joined, const v1::NodeOffer& offer, const WorkerActor& worker) {
        return OnJoined(std::move(joined), offer, worker);
      },
      [this](const v1::HoldNode& hold) { OnHold(hold); },
      [this](v1::WantDevices& wants, const DeviceUserActor& user) { OnWant(std::move(wants), user); },
      [this](const v1::AskWaiting& ask) {
        v1::Waiting waiting;
        waiting.set_because(LackingFor(ask.experiment()));
        return waiting;
      },
      [this](v1::ExpectDevices& expect) { return OnExpect(std::move(expect)); },
      [this](deadline_atom, int32_t number) {
        if (Slot* const slot = Find(number)) Spawn(*slot);
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

DeviceUse TrainingServiceState::UseOf(const Slot& slot) {
  if (slot.worker == nullptr) return DeviceUse::kDown;
  if (slot.trial.has_value() || slot.discovery.has_value()) return DeviceUse::kBusy;
  if (slot.held) return DeviceUse::kHeld;
  return slot.idle ? DeviceUse::kIdle : DeviceUse::kBusy;
}

// ---- Devices ----

TrainingServiceState::Slot* TrainingServiceState::Find(int number) {
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : &found->second;
}

TrainingServiceState::Slot& TrainingServiceState::AddSlot(v1::Device device, bool local, DataNames data) {
  const int number = ++last_number_;
  Slot& slot = slots_[number];
  slot.number = number;
  slot.device = std::move(device);
  slot.local = local;
  slot.data = std::move(data);
  NodeOf(slot).slots.insert(number);
  return slot;
}

void TrainingServiceState::Spawn(Slot& slot) {
  SetWorker(slot, options_.spawn_worker(slot.number, slot.device, WorkerOwnerActor(self_)));
}

void TrainingServiceState::SetWorker(Slot& slot, WorkerActor worker) {
  slot.worker = std::move(worker);
  numbers_[slot.worker.address()] = slot.number;
  List(slot);
  self_->monitor(slot.worker);
}

void TrainingServiceState::List(Slot& slot) {
  const KindKey key(slot.local, NodeOf(slot).programs, RoundedMemory(DeviceMemory(slot.device)), slot.data, slot.ends);
  Kind& kind = kinds_[key];
  if (slot.kind != &kind) {
    Unlist(slot);
    std::tie(kind.local, kind.programs, kind.memory, kind.data, kind.ends) = key;
    if (kind.devices.empty()) kind.lifetime = slot.lifetime;
    const int64_t memory = DeviceMemory(slot.device);
    kind.least_memory = kind.devices.empty() ? memory : std::min(kind.least_memory, memory);
    kind.devices.insert(slot.number);
    slot.kind = &kind;
    PoolChanged();
  }
  Update(slot);
}

void TrainingServiceState::Update(Slot& slot) {
  Kind& kind = *slot.kind;
  const bool usable = slot.worker != nullptr && !slot.held;
  if (usable != (kind.usable.count(slot.number) > 0)) PoolChanged();
  Put(kind.usable, slot.number, usable);
  Put(kind.idle_warm, slot.number, usable && slot.idle && slot.warm);
  Put(kind.idle_cold, slot.number, usable && slot.idle && !slot.warm);
  slot.use.Move({options_.telemetry, &options_.telemetry->devices[UseOf(slot)]});
}

void TrainingServiceState::Unlist(Slot& slot) {
  if (slot.kind == nullptr) return;
  Kind& kind = *std::exchange(slot.kind, nullptr);
  for (std::set<int>* const set : {&kind.devices, &kind.usable, &kind.idle_warm, &kind.idle_cold}) {
    set->erase(slot.number);
  }
  if (kind.devices.empty()) kinds_.erase(KindKey(kind.local, kind.programs, kind.memory, kind.data, kind.ends));
  PoolChanged();
}

void TrainingServiceState::Learn(const Slot& slot, const std::string& program) {
  Node& node = NodeOf(slot);
  if (program.empty() || !node.programs.insert(program).second) return;
  for (const int number : node.slots) {
    Slot& other = slots_.at(number);
    if (other.kind != nullptr) List(other);
  }
}

v1::DeviceAdded TrainingServiceState::OnJoined(v1::DeviceJoined joined, const v1::NodeOffer& offer,
                                               WorkerActor worker) {
  Slot& slot =
      AddSlot(std::move(*joined.mutable_device()), /*local=*/false, {offer.data().begin(), offer.data().end()});
  spdlog::info("{}{} joins", NodeTag(slot.device.node()), DeviceName(slot.device));
  if (joined.has_ends()) {
    const auto left = absl::ToChronoSeconds(ToTime(joined.ends()) - absl::Now());
    // In whole seconds, so that the devices of a node are of one kind.
    slot.ends = std::chrono::time_point_cast<std::chrono::seconds>(self_->clock().now()) +
                std::clamp(left, std::chrono::seconds(0), kLongestLife);
    const absl::Time began = offer.has_began() ? ToTime(offer.began()) : absl::Now();
    slot.lifetime = absl::ToChronoMilliseconds(ToTime(joined.ends()) - began);
  }
  Learn(slot, joined.program());
  SetWorker(slot, std::move(worker));
  v1::DeviceAdded added;
  added.set_worker(slot.number);
  return added;
}

void TrainingServiceState::Remove(Slot& slot) {
  spdlog::info("{}{} leaves: {}", NodeTag(slot.device.node()), DeviceName(slot.device),
               std::string(last_failure_.message()));
  Unlist(slot);
  Node& node = NodeOf(slot);
  node.slots.erase(slot.number);
  if (node.slots.empty()) nodes_.erase(slot.device.node());
  slots_.erase(slot.number);
}

void TrainingServiceState::OnHold(const v1::HoldNode& hold) {
  const auto node = nodes_.find(hold.node());
  if (node == nodes_.end()) return;
  for (const int number : node->second.slots) {
    Slot& slot = slots_.at(number);
    if (slot.local) continue;
    slot.held = hold.hold();
    Update(slot);
  }
  Assign();
}

v1::DeviceList TrainingServiceState::OnList(const v1::ListDevices& list) const {
  v1::DeviceList devices;
  for (const auto& entry : slots_) {
    const Kind* const kind = entry.second.kind;
    if (kind == nullptr || (!list.program().empty() && !Runs(*kind, list.program()))) continue;
    *devices.add_devices() = entry.second.device;
  }
  return devices;
}

void TrainingServiceState::OnReady(const v1::WorkerReady& ready) {
  Slot* const slot = Find(ready.worker());
  if (slot == nullptr || slot->worker == nullptr) return;
  slot->idle = true;
  slot->warm = ready.warm();
  SetStarting(*slot, false);
  Update(*slot);
  Assign();
}

void TrainingServiceState::OnProcessUp(const v1::ProcessUp& up) {
  Slot* const slot = Find(up.worker());
  if (slot == nullptr || slot->worker == nullptr) return;
  slot->warm = true;
  SetStarting(*slot, false);
  Update(*slot);
  Assign();
}

void TrainingServiceState::SetStarting(Slot& slot, bool starting) {
  starting_ += static_cast<int>(starting) - static_cast<int>(std::exchange(slot.starting, starting));
}

void TrainingServiceState::Worked(Slot& slot) {
  slot.works = true;
  slot.downs = 0;
}

// ---- Work ----

void TrainingServiceState::OnTrial(v1::TrialSpec spec, const TrialOwnerActor& owner) {
  const std::string experiment = spec.experiment();
  QueuedTrial trial{std::move(spec), owner, self_->clock().now()};
  if (CanNeverRun()) return LoseTrial(trial, v1::WORKER_DOWN);
  if (owners_.emplace(owner.address(), experiment).second) {
    self_->monitor(owner);
    // It is the same for all of them.
    if (DataNames data = DataOf(trial.spec); !data.empty()) {
      data_[experiment] = std::move(data);
      PoolChanged();
    }
  }
  queue_.Push(std::move(trial));
  Assign();
  LogLacking(experiment);
}

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
  if (stopped.has_value()) EndTrial(*stopped, v1::STOPPED_EARLY);
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
  const auto trials = ended_.find(recorded.experiment());
  if (!all || trials == ended_.end()) return;
  const auto ended = trials->second.find(recorded.trial());
  if (ended == trials->second.end()) return;
  Release(recorded.experiment(), recorded.trial(), ended->second.worker);
  trials->second.erase(ended);
  if (trials->second.empty()) ended_.erase(trials);
}

void TrainingServiceState::AwaitJournal(const QueuedTrial& trial, const WorkerActor& worker) {
  if (trial.recorded) return;
  const v1::TrialSpec& spec = trial.spec;
  // Without its owner nobody writes it down.
  if (owners_.count(trial.owner.address()) == 0) return Release(spec.experiment(), spec.trial(), worker);
  ended_[spec.experiment()][spec.trial()] = {worker, trial.owner.address()};
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
  Worked(*slot);
  if (!slot->local) AwaitJournal(*slot->trial, slot->worker);
  ForgetRunning(slot->trial->spec);
  refusals_.erase(ended.experiment());
  // Nobody asks for those of an experiment that has ended.
  if (owners_.count(slot->trial->owner.address()) > 0) {
    std::deque<std::chrono::milliseconds>& durations = durations_[ended.experiment()];
    durations.push_back(std::chrono::duration_cast<std::chrono::milliseconds>(self_->clock().now() - slot->assigned));
    if (durations.size() > kDurations) durations.pop_front();
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
  if (ended.outcome() != v1::FAILED && ended.outcome() != v1::LOST) return;
  // The message may be a user's exception.
  spdlog::info("{}attempt {} of model {} on {} ended {} ({}): {}",
               LogTag(event.experiment(), event.trial(), device.node()), event.attempt(), event.model(),
               DeviceName(device), v1::Outcome_Name(ended.outcome()), v1::FailureReason_Name(ended.failure().reason()),
               OneLine(BoundedMessage(ended.failure().message())));
}

bool TrainingServiceState::Runs(const Kind& kind, const std::string& program) {
  return program.empty() || kind.programs.count(program) > 0;
}

bool TrainingServiceState::Has(const Kind& kind, const DataNames& data) {
  return std::includes(kind.data.begin(), kind.data.end(), data.begin(), data.end());
}

const TrainingServiceState::DataNames& TrainingServiceState::DataOfTrials(const std::string& experiment) const {
  static const auto* const kNone = new DataNames;
  const auto found = data_.find(experiment);
  return found == data_.end() ? *kNone : found->second;
}

std::chrono::milliseconds TrainingServiceState::Until(TimePoint time) const {
  if (time == TimePoint::max()) return std::chrono::milliseconds::max();
  return std::chrono::duration_cast<std::chrono::milliseconds>(time - self_->clock().now());
}

bool TrainingServiceState::EndsTooSoon(const Kind& kind, const std::string& experiment) const {
  if (kind.ends == TimePoint::max()) return false;
  const std::chrono::milliseconds left = Until(kind.ends);
  if (left.count() <= 0) return true;
  const auto durations = durations_.find(experiment);
  if (durations == durations_.end()) return false;
  const std::chrono::milliseconds longest = *std::max_element(durations->second.begin(), durations->second.end());
  return longest > left && longest <= kind.lifetime;
}

std::vector<const TrainingServiceState::Kind*> TrainingServiceState::KindsFor(const v1::TrialSpec& trial) const {
  std::vector<const Kind*> kinds;
  int64_t largest = 0;
  bool has_room = false;
  const DataNames& data = DataOfTrials(trial.experiment());
  const bool local_only = WasRefused(trial.experiment());
  for (const auto& entry : kinds_) {
    const Kind& kind = entry.second;
    if (local_only && !kind.local) continue;
    if (!Runs(kind, trial.program()) || !Has(kind, data) || EndsTooSoon(kind, trial.experiment())) continue;
    kinds.push_back(&kind);
    largest = std::max(largest, kind.memory);
    has_room |= HasRoomFor(trial.estimated_memory(), kind.memory);
  }
  if (trial.estimated_memory() == 0) return kinds;
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(),
                             [&](const Kind* kind) {
                               return has_room ? !HasRoomFor(trial.estimated_memory(), kind->memory)
                                               : kind->memory < largest;
                             }),
              kinds.end());
  return kinds;
}

TrainingServiceState::Slot* TrainingServiceState::Idle(const Kind& kind) {
  if (!kind.idle_warm.empty()) return Find(*kind.idle_warm.begin());
  // Other machines start their processes themselves.
  if (kind.idle_cold.empty() || (kind.local && starting_ >= options_.max_starting)) return nullptr;
  return Find(*kind.idle_cold.begin());
}

TrainingServiceState::Slot* TrainingServiceState::IdleFor(const v1::TrialSpec& trial) {
  Slot* best = nullptr;
  for (const Kind* const kind : KindsFor(trial)) {
    Slot* const slot = Idle(*kind);
    if (slot == nullptr) continue;
    // The small ones first: the large ones may be needed.
    const auto rank = [](const Slot& candidate) { return std::make_pair(!candidate.warm, candidate.kind->memory); };
    if (best == nullptr || rank(*slot) < rank(*best)) best = slot;
  }
  return best;
}

TrainingServiceState::Slot* TrainingServiceState::IdleForDiscovery(const Discovery& discovery) {
  Slot* best = nullptr;
  const bool local_only = WasRefused(discovery.request.experiment());
  for (const auto& entry : kinds_) {
    if (!Has(entry.second, discovery.data) || (local_only && !entry.second.local)) continue;
    Slot* const slot = Idle(entry.second);
    if (slot == nullptr) continue;
    // Where something is learnt.
    const auto rank = [](const Slot& candidate) {
      return std::make_pair(!candidate.kind->programs.empty(), !candidate.warm);
    };
    if (best == nullptr || rank(*slot) < rank(*best)) best = slot;
  }
  return best;
}

void TrainingServiceState::Assign() {
  const absl::Cleanup count = [this] { CountQueue(); };
  const auto begin = [this](Slot& slot) {
    slot.idle = false;
    SetStarting(slot, slot.local && !slot.warm);
    Update(slot);
  };
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    Slot* const slot = IdleForDiscovery(*discovery);
    if (slot == nullptr) {
      // Others may do without the data that it waits for.
      ++discovery;
      continue;
    }
    begin(*slot);
    slot->discovery = std::move(*discovery);
    discovery = discoveries_.erase(discovery);
    StartDiscovery(*slot);
  }
  const auto any_idle = [this] {
    return std::any_of(kinds_.begin(), kinds_.end(), [](const auto& entry) {
      return entry.second.idle_warm.size() + entry.second.idle_cold.size() > 0;
    });
  };
  while (!queue_.empty() && any_idle()) {
    std::optional<QueuedTrial> trial =
        queue_.Pop([this](const v1::TrialSpec& spec) { return IdleFor(spec) != nullptr; });
    if (!trial.has_value()) return;
    Slot* const slot = IdleFor(trial->spec);
    begin(*slot);
    running_[trial->spec.experiment()][trial->spec.trial()] = slot->number;
    options_.telemetry->trials_started.Add();
    options_.telemetry->trials_running.Add(1);
    slot->assigned = self_->clock().now();
    slot->trial = *std::move(trial);
    self_->send(slot->worker, slot->trial->spec);
  }
}

void TrainingServiceState::StartDiscovery(Slot& slot) {
  // Each step of it has a deadline at the worker.
  self_->request(slot.worker, caf::infinite, slot.discovery->request)
      .then(
          [this, number = slot.number](v1::Discovered& discovered) {
            Slot* const slot = Find(number);
            if (slot == nullptr || !slot->discovery.has_value()) return;
            Worked(*slot);
            Learn(*slot, discovered.program());
            refusals_.erase(slot->discovery->request.experiment());
            slot->discovery->promise.deliver(std::move(discovered));
            slot->discovery.reset();
            // Now it is known which trials may run there.
            Assign();
          },
          [this, number = slot.number](const caf::error& error) { OnDiscoveryFailed(number, error); });
}

void TrainingServiceState::OnDiscoveryFailed(int number, const caf::error& error) {
  // Where CAF says that the worker is gone, OnWorkerDown has, or will have, the discovery, and why.
  if (!IsStatus(error)) return;
  Slot* const slot = Find(number);
  if (slot == nullptr || !slot->discovery.has_value()) return;
  last_failure_ = FromCafError(error);
  LoseDiscovery(*slot, *std::exchange(slot->discovery, std::nullopt));
  Assign();
}

void TrainingServiceState::Cancel(const std::string& experiment, const caf::actor_addr& owner) {
  const auto is_meant = [&owner](const QueuedTrial& trial) { return !owner || trial.owner.address() == owner; };
  for (QueuedTrial& trial : queue_.Remove(experiment)) {
    if (is_meant(trial)) {
      EndTrial(trial, v1::CANCELED);
    } else {
      queue_.Push(std::move(trial));
    }
  }
  CountQueue();
  CancelReturning(experiment, owner);
  const auto trials = running_.find(experiment);
  if (trials == running_.end()) return;
  for (const auto& [trial, number] : trials->second) {
    Slot& slot = *Find(number);
    if (!is_meant(*slot.trial)) continue;
    v1::CancelTrial cancel_trial;
    cancel_trial.set_experiment(experiment);
    cancel_trial.set_trial(trial);
    slot.trial->canceled = true;
    self_->send(slot.worker, cancel_trial);
  }
}

void TrainingServiceState::CancelDiscovery(const std::string& experiment) {
  refusals_.erase(experiment);
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    if (discovery->request.experiment() != experiment) {
      ++discovery;
      continue;
    }
    discovery->promise.deliver(ToCafError(absl::CancelledError("the experiment was stopped before it began")));
    discovery = discoveries_.erase(discovery);
  }
  CountQueue();
  logged_.erase(experiment);
  returning_.GiveUp(experiment);
}

TrainingServiceState::Slot* TrainingServiceState::FindRunning(const std::string& experiment, int trial) {
  const auto trials = running_.find(experiment);
  if (trials == running_.end()) return nullptr;
  const auto number = trials->second.find(trial);
  return number == trials->second.end() ? nullptr : Find(number->second);
}

// ---- What goes down ----

void TrainingServiceState::OnDown(const caf::down_msg& down) {
  if (users_.erase(down.source) > 0) PoolChanged();
  if (const auto owner = owners_.find(down.source); owner != owners_.end()) {
    const std::string experiment = owner->second;
    owners_.erase(owner);
    Cancel(experiment, down.source);
    if (const auto trials = ended_.find(experiment); trials != ended_.end()) {
      for (auto next = trials->second.begin(); next != trials->second.end();) {
        const auto ended = next++;
        if (ended->second.owner != down.source) continue;
        Release(experiment, ended->first, ended->second.worker);
        trials->second.erase(ended);
      }
      if (trials->second.empty()) ended_.erase(trials);
    }
    logged_.erase(experiment);
    durations_.erase(experiment);
    refusals_.erase(experiment);
    // An engine that was stopped may end after its experiment went on.
    const bool goes_on = std::any_of(owners_.begin(), owners_.end(),
                                     [&experiment](const auto& other) { return other.second == experiment; });
    if (!goes_on) data_.erase(experiment);
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
  Slot& slot = slots_.at(number);
  slot.worker = nullptr;
  slot.idle = slot.warm = false;
  SetStarting(slot, false);
  std::optional<QueuedTrial> trial = std::exchange(slot.trial, std::nullopt);
  std::optional<Discovery> discovery = std::exchange(slot.discovery, std::nullopt);
  if (trial.has_value()) {
    ForgetRunning(trial->spec);
    const std::string tag = LogTag(trial->spec.experiment(), trial->spec.trial(), slot.device.node());
    // What became of a trial that began on a node was said before the worker went down: this one did not begin.
    if (slot.local) {
      spdlog::info("{}the trial on {} was lost with its worker", tag, DeviceName(slot.device));
      options_.telemetry->trials_lost.Add();
      LoseTrial(*trial, v1::WORKER_DOWN);
    } else {
      spdlog::info("{}the trial had not begun on {}, which is gone: it is queued again", tag, DeviceName(slot.device));
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
  if (trial.canceled) return EndTrial(trial, v1::CANCELED);
  NoteRefusal(trial.spec.experiment());
  if (++trial.returned > kMaxReturned) return LoseTrial(trial, v1::NODE_LEFT);
  const std::string experiment = trial.spec.experiment();
  const int number = trial.spec.trial();
  const std::set<int> stopped = std::exchange(trial.stopped, {});
  queue_.Return(std::move(trial));
  for (const int model : stopped) {
    if (const auto removed = queue_.RemoveModel(experiment, number, model)) EndTrial(*removed, v1::STOPPED_EARLY);
  }
}

void TrainingServiceState::NoteRefusal(const std::string& experiment) {
  Refusals& refusals = refusals_[experiment];
  const std::chrono::seconds delay = RestartDelay(++refusals.count);
  refusals.because = std::string(last_failure_.message());
  refusals.until = self_->clock().now() + delay;
  if (delay.count() > 0) self_->delayed_send(self_, delay, caf::tick_atom_v, experiment);
}

bool TrainingServiceState::WasRefused(const std::string& experiment) const {
  const auto found = refusals_.find(experiment);
  return found != refusals_.end() && self_->clock().now() < found->second.until;
}

void TrainingServiceState::Restart(Slot& slot) {
  ++slot.downs;
  slot.given_up = !options_.open && slot.downs >= kMaxFirstWorkers && !slot.works;
  const std::chrono::seconds delay = RestartDelay(slot.downs);
  spdlog::warn("{}{}: {}; {}", NodeTag(slot.device.node()), DeviceName(slot.device),
               std::string(last_failure_.message()),
               slot.given_up        ? "it is given up"
               : delay.count() == 0 ? "trying again"
                                    : absl::StrCat("trying again in ", delay.count(), " s"));
  if (slot.given_up) {
    slot.use.Move({options_.telemetry, &options_.telemetry->devices[DeviceUse::kDown]});
    return Unlist(slot);
  }
  Update(slot);
  if (delay.count() == 0) return Spawn(slot);
  self_->delayed_send(self_, delay, deadline_atom_v, static_cast<int32_t>(slot.number));
}

void TrainingServiceState::LoseDiscovery(const Slot& slot, Discovery discovery) {
  // It did not begin there, or its node left in order: that says nothing about it.
  const bool blameless = !slot.local && absl::IsAborted(last_failure_);
  if (slot.local) {
    ++discovery.lost_workers;
  } else if (!blameless) {
    discovery.lost_nodes.insert(slot.device.node());
  }
  // Any other error (there is no such program) will not pass.
  const size_t lost = static_cast<size_t>(discovery.lost_workers) + discovery.lost_nodes.size();
  if (blameless || (absl::IsUnavailable(last_failure_) && lost < kMaxDiscoveryLost)) {
    if (blameless) NoteRefusal(discovery.request.experiment());
    discoveries_.push_front(std::move(discovery));
  } else {
    discovery.promise.deliver(ToCafError(last_failure_));
  }
}

void TrainingServiceState::LoseAll() {
  while (const std::optional<QueuedTrial> waiting = queue_.Pop()) {
    queue_.Finished(waiting->spec.experiment());
    LoseTrial(*waiting, v1::WORKER_DOWN);
  }
  for (Discovery& discovery : discoveries_) discovery.promise.deliver(ToCafError(last_failure_));
  discoveries_.clear();
  CountQueue();
}

void TrainingServiceState::LoseTrial(const QueuedTrial& trial, v1::LostCause cause) {
  v1::Failure failure;
  failure.set_reason(v1::WORKER_LOST);
  failure.set_message(std::string(last_failure_.message()));
  EndTrial(trial, v1::LOST, failure, cause);
}

void TrainingServiceState::EndTrial(const QueuedTrial& trial, v1::Outcome outcome, const v1::Failure& failure,
                                    v1::LostCause lost_cause) {
  // The attempt's own events, if there were any, have lower numbers; nobody knows how many.
  constexpr int kLastSequence = 1 << 30;
  for (const v1::TrialModel& model : trial.spec.models()) {
    self_->send(trial.owner, EndedEvent(trial.spec, model, kLastSequence, outcome, failure, lost_cause));
  }
}

// ---- Trials that nodes bring back ----

void TrainingServiceState::OnReturning(const v1::ReturningTrials& trials, const TrialOwnerActor& owner) {
  const std::string& experiment = trials.experiment();
  for (int i = 0; i < trials.trials_size(); ++i) {
    queue_.Began(experiment);
    options_.telemetry->trials_running.Add(1);
  }
  if (!trials.trials().empty()) {
    if (owners_.emplace(owner.address(), experiment).second) self_->monitor(owner);
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
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    if (!returning_.is_awaited(discovery->request.experiment())) {
      ++discovery;
      continue;
    }
    discovery->promise.deliver(ToCafError(NodesHaveReturned()));
    discovery = discoveries_.erase(discovery);
  }
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

void TrainingServiceState::LoseReturning(const ReturningTrials::Lost& lost, const std::string& why) {
  for (const ReturningTrials::Trial& trial : lost) {
    const v1::TrialSpec& spec = trial.queued.spec;
    const std::string& node = trial.device.node();
    spdlog::info("{}node {} {}", LogTag(spec.experiment(), spec.trial(), node), node, why);
    ForgetReturning(trial);
    v1::Failure failure;
    failure.set_reason(v1::WORKER_LOST);
    failure.set_message(absl::StrCat("the head was restarted, and node ", node, " ", why));
    QueuedTrial stopped = trial.queued, rest = trial.queued;
    stopped.spec.clear_models();
    rest.spec.clear_models();
    for (const v1::TrialModel& model : spec.models()) {
      *(trial.queued.stopped.count(model.model()) > 0 ? stopped : rest).spec.add_models() = model;
    }
    EndTrial(stopped, v1::STOPPED_EARLY);
    if (trial.queued.canceled) {
      EndTrial(rest, v1::CANCELED);
    } else {
      EndTrial(rest, v1::LOST, failure, v1::HEAD_ENDED);
    }
  }
  if (!lost.empty()) PoolChanged();
}

void TrainingServiceState::ForgetReturning(const ReturningTrials::Trial& trial) {
  queue_.Finished(trial.queued.spec.experiment());
  options_.telemetry->trials_running.Add(-1);
}

// ---- Shares, and what is lacking ----

void TrainingServiceState::OnWant(v1::WantDevices wants, const DeviceUserActor& user) {
  const auto [entry, added] = users_.emplace(user.address(), User());
  if (added) self_->monitor(user);
  entry->second.wants = std::move(wants);
  entry->second.actor = user;
  PoolChanged();
}

v1::DeviceDemand TrainingServiceState::OnExpect(v1::ExpectDevices expect) {
  v1::DeviceDemand demand;
  int64_t largest = 0;
  for (const auto& entry : kinds_) largest = std::max(largest, entry.second.memory);
  const auto suits = [&](const v1::TrialSpec& trial) {
    if (!trial.program().empty() && trial.program() != expect.program()) return false;
    // Where no device has room for a trial it waits for one of the largest.
    return expect.device_memory() == 0 || expect.device_memory() >= largest ||
           HasRoomFor(trial.estimated_memory(), expect.device_memory());
  };
  // Devices of this machine whose processes start one after the other.
  size_t about_to_begin = 0;
  for (const auto& entry : kinds_) {
    if (entry.second.local) about_to_begin += entry.second.idle_warm.size() + entry.second.idle_cold.size();
  }
  const int waiting = static_cast<int>(discoveries_.size()) + queue_.Count(suits);
  demand.set_waiting(std::max(0, waiting - static_cast<int>(about_to_begin)));
  v1::ExpectDevices& known = expected_[expect.source()];
  const bool same =
      known.program() == expect.program() && known.devices() == expect.devices() && known.because() == expect.because();
  if (!same) PoolChanged();
  known = std::move(expect);
  return demand;
}

std::string TrainingServiceState::WhyNotThere() const {
  std::string why;
  for (const auto& [source, expected] : expected_) {
    if (expected.because().empty()) continue;
    absl::StrAppend(&why, why.empty() ? "" : "; ", expected.because());
  }
  return why;
}

void TrainingServiceState::PoolChanged() {
  // A node brings many devices.
  if (!std::exchange(pool_changed_, true)) self_->send(self_, caf::tick_atom_v);
}

void TrainingServiceState::OnPoolChanged() {
  pool_changed_ = false;
  for (auto& [program, users] : UsersByProgram()) Share(program, std::move(users));
  std::set<std::string> waiting;
  for (const Discovery& discovery : discoveries_) waiting.insert(discovery.request.experiment());
  for (const std::string& experiment : queue_.Experiments()) waiting.insert(experiment);
  for (const std::string& experiment : returning_.Experiments()) waiting.insert(experiment);
  for (const auto& entry : logged_) waiting.insert(entry.first);
  for (const std::string& experiment : waiting) LogLacking(experiment);
}

std::map<std::string, std::vector<TrainingServiceState::User*>> TrainingServiceState::UsersByProgram() {
  std::map<std::string, std::vector<User*>> users;
  for (auto& entry : users_) users[entry.second.wants.program()].push_back(&entry.second);
  return users;
}

void TrainingServiceState::Share(const std::string& program, std::vector<User*> users) {
  std::vector<int64_t> memories;
  for (const auto& entry : kinds_) {
    const Kind& kind = entry.second;
    if (Runs(kind, program)) memories.insert(memories.end(), kind.devices.size(), kind.least_memory);
  }
  const auto most = [&](const User& user) {
    int most = user.wants.has_most_trials() ? user.wants.most_trials() : std::numeric_limits<int>::max();
    const DataNames& data = DataOfTrials(user.wants.experiment());
    if (data.empty()) return most;
    size_t with_data = 0;
    for (const auto& entry : kinds_) {
      if (Runs(entry.second, program) && Has(entry.second, data)) with_data += entry.second.devices.size();
    }
    return std::min(most, static_cast<int>(with_data));
  };
  // Who can use little comes first: what is left is the others'.
  std::sort(users.begin(), users.end(), [&](const User* a, const User* b) {
    return std::make_tuple(-a->wants.priority(), most(*a), a->wants.experiment()) <
           std::make_tuple(-b->wants.priority(), most(*b), b->wants.experiment());
  });
  std::map<int, int> equals;
  for (const User* const user : users) ++equals[user->wants.priority()];
  int left = static_cast<int>(memories.size());
  for (const auto& [source, expected] : expected_) {
    if (program.empty() || expected.program() == program) left += expected.devices();
  }
  const int64_t memory = PlanningMemory(std::move(memories));
  for (User* const user : users) {
    // Those of its priority that have no share yet, this one included.
    int& sharing = equals[user->wants.priority()];
    const int trials = std::min(most(*user), (left + sharing - 1) / sharing);
    --sharing;
    left -= trials;
    v1::DeviceShare share;
    share.set_trials(std::max(1, trials));
    share.set_device_memory(memory);
    std::optional<v1::DeviceShare>& told = user->told;
    if (told.has_value() && told->trials() == share.trials() && told->device_memory() == memory) continue;
    told = share;
    self_->send(user->actor, std::move(share));
  }
}

std::string TrainingServiceState::Lacking(const v1::TrialSpec* trial, const DataNames& data) const {
  const std::string why = WhyNotThere();
  const std::string and_why = why.empty() ? "" : absl::StrCat("; ", why);
  if (kinds_.empty() && why.empty() && !absent_.empty()) {
    return absl::StrCat("a device: this head has none of its own, and of its nodes none has returned (",
                        absl::StrJoin(absent_, ", "), ")");
  }
  if (kinds_.empty()) {
    return why.empty() ? "a device: this head has none of its own, and no node has joined it"
                       : absl::StrCat("a device: ", why);
  }
  const bool has_data =
      std::any_of(kinds_.begin(), kinds_.end(), [&data](const auto& entry) { return Has(entry.second, data); });
  if (!has_data) {
    return absl::StrCat("a node that has the data '", absl::StrJoin(data, "' and '"), "' (`node --data ", *data.begin(),
                        "=DIR`): none of those that are there has it", and_why);
  }
  int devices = 0;
  for (const Kind* const kind : KindsFor(trial != nullptr ? *trial : v1::TrialSpec())) {
    if (!Has(*kind, data)) continue;
    if (!kind->usable.empty()) return "";
    devices += static_cast<int>(kind->devices.size());
  }
  const bool too_soon = trial != nullptr && std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& entry) {
                          const Kind& kind = entry.second;
                          return !kind.usable.empty() && Runs(kind, trial->program()) && Has(kind, data) &&
                                 EndsTooSoon(kind, trial->experiment());
                        });
  if (too_soon) {
    return absl::StrCat("a device that is there for longer: the jobs of all others end before its trial would",
                        and_why);
  }
  if (devices > 0) {
    return absl::StrCat("a device: each of the ", devices,
                        " that could run it is down, or its node is silent or drained", and_why);
  }
  // A discovery takes any program: where its data is there, so is a device for it.
  return absl::StrCat("a node with the program that discovered its space (build id ",
                      trial != nullptr ? trial->program() : "", "): none of those that are there",
                      data.empty() ? "" : " and have its data", " runs it", and_why);
}

std::string TrainingServiceState::LackingFor(const std::string& experiment) const {
  if (WasRefused(experiment)) {
    const bool has_local = std::any_of(kinds_.begin(), kinds_.end(), [](const auto& entry) {
      return entry.second.local && !entry.second.usable.empty();
    });
    if (!has_local) return absl::StrCat("a node that can take it: ", refusals_.at(experiment).because);
  }
  for (const Discovery& discovery : discoveries_) {
    if (discovery.request.experiment() == experiment) return Lacking(nullptr, discovery.data);
  }
  const std::string returning = returning_.Lacking(experiment);
  for (const v1::TrialSpec* const trial : queue_.FirstOfLines(experiment)) {
    const std::string lacking = Lacking(trial, DataOfTrials(experiment));
    if (!lacking.empty()) return returning.empty() ? lacking : absl::StrCat(returning, "; ", lacking);
  }
  return returning;
}

void TrainingServiceState::LogLacking(const std::string& experiment) {
  // Elsewhere the devices themselves say what is wrong, and nothing waits for others.
  if (!options_.open || experiment.empty()) return;
  const std::string lacking = LackingFor(experiment);
  const auto logged = logged_.find(experiment);
  if (lacking == (logged == logged_.end() ? "" : logged->second)) return;
  if (lacking.empty()) {
    spdlog::info("{}waits no longer", LogTag(experiment));
    logged_.erase(logged);
  } else {
    spdlog::warn("{}waits for {}", LogTag(experiment), lacking);
    logged_[experiment] = lacking;
  }
}

}  // namespace lanista
