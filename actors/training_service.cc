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
#include "google/protobuf/util/message_differencer.h"
#include "spdlog/spdlog.h"
#include "src/base/bounded_message.h"
#include "src/base/clock.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/config/requirements.h"
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
// So many sorts of devices (kind and labels) are remembered.
constexpr size_t kMostSeen = 1000;
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

// Whether the discovery is the experiment's, or was asked for by it.
bool IsOf(const v1::Discover& discovery, const std::string& experiment) {
  return discovery.experiment() == experiment || discovery.asked_by() == experiment;
}

// Whether `names` has all of `data`.
bool Includes(const std::set<std::string>& names, const std::set<std::string>& data) {
  return std::includes(names.begin(), names.end(), data.begin(), data.end());
}

// Whether the nodes that are expected will have it.
bool HasData(const v1::ExpectDevices& expected, const std::set<std::string>& data) {
  return Includes({expected.data().begin(), expected.data().end()}, data);
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
    Spawn(AddSlot(std::move(device), /*local=*/true, options_.data, options_.labels));
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

TrainingServiceState::Slot& TrainingServiceState::AddSlot(v1::Device device, bool local, DataNames data,
                                                          Labels labels) {
  const int number = ++last_number_;
  Slot& slot = slots_[number];
  slot.number = number;
  slot.device = std::move(device);
  slot.local = local;
  slot.data = std::move(data);
  slot.labels = std::move(labels);
  NodeOf(slot).slots.insert(number);
  if (slot.device.prepares()) places_.insert(number);
  return slot;
}

void TrainingServiceState::Spawn(Slot& slot) {
  SetWorker(slot, options_.spawn_worker(slot.number, slot.device, WorkerOwnerActor(self_)));
}

void TrainingServiceState::SetWorker(Slot& slot, WorkerActor worker) {
  slot.worker = std::move(worker);
  numbers_[slot.worker.address()] = slot.number;
  if (!slot.device.prepares()) List(slot);
  self_->monitor(slot.worker);
}

TrainingServiceState::KindKey TrainingServiceState::KeyOf(const Kind& kind) {
  return {kind.local, kind.programs, kind.memory, kind.data, kind.ends, kind.device_kind, kind.labels};
}

void TrainingServiceState::List(Slot& slot) {
  const KindKey key(slot.local, NodeOf(slot).programs, RoundedMemory(DeviceMemory(slot.device)), slot.data, slot.ends,
                    slot.device.kind(), slot.labels);
  Kind& kind = kinds_[key];
  if (slot.kind != &kind) {
    Unlist(slot);
    std::tie(kind.local, kind.programs, kind.memory, kind.data, kind.ends, kind.device_kind, kind.labels) = key;
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
  if (slot.device.prepares()) return;
  Kind& kind = *slot.kind;
  const bool usable = slot.worker != nullptr && !slot.held;
  const bool stays = usable || (!slot.leaving && slot.downs < kMaxFirstWorkers);
  if (usable != (kind.usable.count(slot.number) > 0) || stays != (kind.staying.count(slot.number) > 0)) PoolChanged();
  Put(kind.usable, slot.number, usable);
  Put(kind.staying, slot.number, stays);
  Put(kind.idle_warm, slot.number, usable && slot.idle && slot.warm);
  Put(kind.idle_cold, slot.number, usable && slot.idle && !slot.warm);
  slot.use.Move({options_.telemetry, &options_.telemetry->devices[UseOf(slot)]});
}

void TrainingServiceState::Unlist(Slot& slot) {
  if (slot.kind == nullptr) return;
  Kind& kind = *std::exchange(slot.kind, nullptr);
  for (std::set<int>* const set : {&kind.devices, &kind.staying, &kind.usable, &kind.idle_warm, &kind.idle_cold}) {
    set->erase(slot.number);
  }
  if (kind.devices.empty()) kinds_.erase(KeyOf(kind));
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
  Slot& slot = AddSlot(std::move(*joined.mutable_device()), /*local=*/false, {offer.data().begin(), offer.data().end()},
                       LabelsOf(offer.labels()));
  if (!slot.device.prepares()) {
    // Labels may be different on each node: then nothing can be learned from them.
    if (seen_memory_.size() >= kMostSeen) seen_memory_.clear();
    int64_t& seen = seen_memory_[{slot.device.kind(), slot.labels}];
    seen = std::max(seen, DeviceMemory(slot.device));
  }
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
  places_.erase(slot.number);
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
    slot.leaving = hold.leaving();
    Update(slot);
  }
  Assign();
}

v1::DeviceList TrainingServiceState::OnList(const v1::ListDevices& list) const {
  v1::DeviceList devices;
  for (const auto& entry : slots_) {
    const Kind* const kind = entry.second.kind;
    if (kind == nullptr || (!list.program().empty() && !Runs(*kind, list.program()))) continue;
    if (DeviceMemory(entry.second.device) < list.requirements().min_device_memory()) continue;
    if (!HasKindAndLabels(list.requirements(), kind->device_kind, kind->labels)) continue;
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

bool TrainingServiceState::Has(const Kind& kind, const DataNames& data) { return Includes(kind.data, data); }

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

const TrainingServiceState::Slot* TrainingServiceState::FirstWith(const Kind& kind, const std::set<int>& numbers,
                                                                  int64_t memory) const {
  const auto found =
      kind.least_memory >= memory ? numbers.begin() : std::find_if(numbers.begin(), numbers.end(), [&](int number) {
        return DeviceMemory(slots_.at(number).device) >= memory;
      });
  return found == numbers.end() ? nullptr : &slots_.at(*found);
}

TrainingServiceState::Slot* TrainingServiceState::FirstWith(const Kind& kind, const std::set<int>& numbers,
                                                            int64_t memory) {
  const Slot* const slot = std::as_const(*this).FirstWith(kind, numbers, memory);
  return slot == nullptr ? nullptr : Find(slot->number);
}

bool TrainingServiceState::HasWhatIsRequired(const Kind& kind, const v1::RequirementsConfig& requirements) const {
  return HasKindAndLabels(requirements, kind.device_kind, kind.labels) &&
         FirstWith(kind, kind.devices, requirements.min_device_memory()) != nullptr;
}

std::vector<const TrainingServiceState::Kind*> TrainingServiceState::KindsFor(const v1::TrialSpec& trial) const {
  std::vector<const Kind*> kinds;
  const DataNames& data = DataOfTrials(trial.experiment());
  const int64_t required = trial.requirements().min_device_memory();
  const bool local_only = WasRefused(trial.experiment());
  for (const auto& entry : kinds_) {
    const Kind& kind = entry.second;
    if (local_only && !kind.local) continue;
    if (!Runs(kind, trial.program()) || !Has(kind, data) || EndsTooSoon(kind, trial.experiment())) continue;
    if (trial.has_requirements() && !HasWhatIsRequired(kind, trial.requirements())) continue;
    kinds.push_back(&kind);
  }
  if (trial.estimated_memory() == 0) return kinds;
  // A trial waits for the device that has room for it, but not for one that may never take it.
  const auto stays = [&](const Kind* kind) { return FirstWith(*kind, kind->staying, required) != nullptr; };
  const auto staying = std::stable_partition(kinds.begin(), kinds.end(), stays);
  if (staying != kinds.begin()) kinds.erase(staying, kinds.end());
  int64_t largest = 0;
  bool has_room = false;
  for (const Kind* const kind : kinds) {
    largest = std::max(largest, kind->memory);
    has_room |= HasRoomFor(trial.estimated_memory(), kind->memory);
  }
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(),
                             [&](const Kind* kind) {
                               return has_room ? !HasRoomFor(trial.estimated_memory(), kind->memory)
                                               : kind->memory < largest;
                             }),
              kinds.end());
  return kinds;
}

TrainingServiceState::Slot* TrainingServiceState::Idle(const Kind& kind, int64_t memory) {
  if (Slot* const warm = FirstWith(kind, kind.idle_warm, memory)) return warm;
  // Other machines start their processes themselves.
  if (kind.local && starting_ >= options_.max_starting) return nullptr;
  return FirstWith(kind, kind.idle_cold, memory);
}

TrainingServiceState::Slot* TrainingServiceState::IdleFor(const v1::TrialSpec& trial) {
  Slot* best = nullptr;
  for (const Kind* const kind : KindsFor(trial)) {
    Slot* const slot = Idle(*kind, trial.requirements().min_device_memory());
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

TrainingServiceState::Slot* TrainingServiceState::PlaceFor(const Discovery& discovery) {
  if (discovery.needs_device) return nullptr;
  Slot* best = nullptr;
  const bool converts = discovery.request.has_convert();
  const bool local_only = !converts && WasRefused(discovery.request.experiment());
  for (const int number : places_) {
    Slot& slot = slots_.at(number);
    if (slot.worker == nullptr || !slot.idle || slot.held || (local_only && !slot.local)) continue;
    if (slot.local && !slot.warm && starting_ >= options_.max_starting) continue;
    if (!Includes(slot.data, discovery.data)) continue;
    if (converts && !MayConvert(slot, discovery)) continue;
    if (best == nullptr || (slot.warm && !best->warm)) best = &slot;
  }
  return best;
}

bool TrainingServiceState::MayConvert(const Slot& place, const Discovery& conversion) {
  const std::string& program = conversion.request.program();
  return !place.local && place.worker != nullptr && !place.held && Includes(place.data, conversion.data) &&
         (program.empty() || NodeOf(place).programs.count(program) > 0);
}

absl::Status TrainingServiceState::CheckConversion(const Discovery& conversion) {
  for (const int number : places_) {
    if (MayConvert(slots_.at(number), conversion)) return absl::OkStatus();
  }
  const std::string& program = conversion.request.program();
  std::string node = "no node is there";
  if (!program.empty()) absl::StrAppend(&node, " with the program of the experiment's space (build id ", program, ")");
  if (!conversion.data.empty()) {
    absl::StrAppend(&node, program.empty() ? " with" : " and", " the data '", absl::StrJoin(conversion.data, "' and '"),
                    "'");
  }
  return absl::UnavailableError(absl::StrCat(node, " (`lanista node` on a machine offers one)"));
}

bool TrainingServiceState::NeedsDevice(const Slot& place, const v1::Discovered& discovered) {
  // Only places convert, and no device would do better.
  if (!place.device.prepares() || discovered.has_converted()) return false;
  if (discovered.out_of_memory()) return true;
  if (!discovered.has_error() && !discovered.tries_failed()) return false;
  const std::set<int>& slots = NodeOf(place).slots;
  return std::any_of(slots.begin(), slots.end(),
                     [this](int number) { return slots_.at(number).device.kind() == v1::GPU; });
}

void TrainingServiceState::Assign() {
  const absl::Cleanup count = [this] { CountQueue(); };
  const auto begin = [this](Slot& slot) {
    slot.idle = false;
    SetStarting(slot, slot.local && !slot.warm);
    Update(slot);
  };
  for (auto discovery = discoveries_.begin(); discovery != discoveries_.end();) {
    // A device first: its process is then warm for the trials that follow. A conversion is followed by none.
    const bool converts = discovery->request.has_convert();
    Slot* slot = converts ? nullptr : IdleForDiscovery(*discovery);
    if (slot == nullptr) slot = PlaceFor(*discovery);
    if (slot == nullptr && converts) {
      if (const absl::Status checked = CheckConversion(*discovery); !checked.ok()) {
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
            Discovery discovery = *std::exchange(slot->discovery, std::nullopt);
            if (!discovery.canceled && NeedsDevice(*slot, discovered)) {
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
    if (!IsOf(discovery->request, experiment)) {
      ++discovery;
      continue;
    }
    discovery->promise.deliver(ToCafError(absl::CancelledError("the experiment was stopped before it began")));
    discovery = discoveries_.erase(discovery);
  }
  for (auto& [number, slot] : slots_) {
    if (!slot.discovery.has_value()) continue;
    Discovery& discovery = *slot.discovery;
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
    if (!slot.device.prepares()) slot.use.Move({options_.telemetry, &options_.telemetry->devices[DeviceUse::kDown]});
    return Unlist(slot);
  }
  Update(slot);
  if (delay.count() == 0) return Spawn(slot);
  self_->delayed_send(self_, delay, deadline_atom_v, static_cast<int32_t>(slot.number));
}

void TrainingServiceState::LoseDiscovery(const Slot& slot, Discovery discovery) {
  if (discovery.request.has_convert()) {
    if (discovery.canceled || ++discovery.places >= static_cast<int>(kMaxDiscoveryLost)) {
      discovery.promise.deliver(ToCafError(absl::UnavailableError(last_failure_.message())));
    } else {
      // Where no other place is left, Assign says so.
      discoveries_.push_front(std::move(discovery));
    }
    return;
  }
  // It did not begin there, or its node left in order: that says nothing about it.
  const bool blameless = !slot.local && absl::IsAborted(last_failure_);
  if (slot.local) {
    ++discovery.lost_workers;
  } else if (!blameless) {
    discovery.lost_nodes.insert(slot.device.node());
  }
  // Any other error (there is no such program) will not pass.
  const size_t lost = static_cast<size_t>(discovery.lost_workers) + discovery.lost_nodes.size();
  if (!discovery.canceled && (blameless || (absl::IsUnavailable(last_failure_) && lost < kMaxDiscoveryLost))) {
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
  for (const auto& entry : kinds_) {
    if (!entry.second.staying.empty()) largest = std::max(largest, entry.second.memory);
  }
  const auto has = [&expect](const DataNames& data) { return HasData(expect, data); };
  const auto suits = [&](const v1::TrialSpec& trial) {
    if (!trial.program().empty() && trial.program() != expect.program()) return false;
    if (!has(DataOfTrials(trial.experiment()))) return false;
    if (!MayMeet(expect, trial.requirements())) return false;
    // Where no device has room for a trial it waits for one of the largest.
    return expect.device_memory() == 0 || expect.device_memory() >= largest ||
           HasRoomFor(trial.estimated_memory(), expect.device_memory());
  };
  // Devices of this machine whose processes start one after the other, and what they are about to begin.
  const auto idle_here = [](const Kind& kind) {
    return kind.local ? kind.idle_warm.size() + kind.idle_cold.size() : 0;
  };
  size_t idle = 0;
  for (const auto& entry : kinds_) idle += idle_here(entry.second);
  const auto counts = [&](const Discovery& discovery) {
    return !discovery.request.has_convert() && has(discovery.data);
  };
  const auto discoveries = static_cast<int>(std::count_if(discoveries_.begin(), discoveries_.end(), counts));
  int begin_here = 0;
  if (idle > 0) {
    const auto begins_here = [&](const Discovery& discovery) {
      return counts(discovery) && std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& entry) {
               return idle_here(entry.second) > 0 && Has(entry.second, discovery.data);
             });
    };
    begin_here = static_cast<int>(std::count_if(discoveries_.begin(), discoveries_.end(), begins_here));
    begin_here += queue_.Count([&](const v1::TrialSpec& trial) {
      const std::vector<const Kind*> kinds = KindsFor(trial);
      return suits(trial) &&
             std::any_of(kinds.begin(), kinds.end(), [&](const Kind* kind) { return idle_here(*kind) > 0; });
    });
  }
  demand.set_waiting(discoveries + queue_.Count(suits) - std::min(begin_here, static_cast<int>(idle)));
  v1::ExpectDevices& known = expected_[expect.source()];
  if (!google::protobuf::util::MessageDifferencer::Equals(known, expect)) PoolChanged();
  known = std::move(expect);
  return demand;
}

bool TrainingServiceState::MayMeet(const v1::ExpectDevices& expected,
                                   const v1::RequirementsConfig& requirements) const {
  OfferedDevices devices{expected.device_kind(), expected.device_memory(), LabelsOf(expected.labels())};
  if (devices.kind == v1::DEVICE_KIND_UNSPECIFIED) devices.kind = requirements.device_kind();
  if (devices.memory == 0) {
    const auto seen = seen_memory_.find({devices.kind, devices.labels});
    devices.memory = seen == seen_memory_.end() ? requirements.min_device_memory() : seen->second;
  }
  return Meets(devices, requirements);
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
  for (const auto& [program, users] : UsersByProgram()) Share(program, users);
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

std::vector<int64_t> TrainingServiceState::MemoriesOf(const std::string& program, const DataNames& data,
                                                      const v1::RequirementsConfig& requirements) const {
  std::vector<int64_t> memories;
  for (const auto& entry : kinds_) {
    const Kind& kind = entry.second;
    if (!Runs(kind, program) || !Has(kind, data)) continue;
    if (!HasKindAndLabels(requirements, kind.device_kind, kind.labels)) continue;
    if (kind.least_memory >= requirements.min_device_memory()) {
      memories.insert(memories.end(), kind.staying.size(), kind.least_memory);
      continue;
    }
    for (const int number : kind.staying) {
      const int64_t memory = DeviceMemory(slots_.at(number).device);
      if (memory >= requirements.min_device_memory()) memories.push_back(memory);
    }
  }
  return memories;
}

int TrainingServiceState::CountComing(const std::string& program, const DataNames& data,
                                      const v1::RequirementsConfig& requirements) const {
  int coming = 0;
  for (const auto& [source, expected] : expected_) {
    const bool runs = program.empty() || expected.program() == program;
    if (runs && HasData(expected, data) && MayMeet(expected, requirements)) coming += expected.devices();
  }
  return coming;
}

void TrainingServiceState::Share(const std::string& program, const std::vector<User*>& users) {
  struct Sharing {
    User* user;
    // So many trials at a time it can run at most.
    int most;
    int64_t memory;
  };
  std::vector<int64_t> all = MemoriesOf(program, {}, {});
  int left = static_cast<int>(all.size()) + CountComing(program, {}, {});
  const int64_t memory_of_all = PlanningMemory(std::move(all));
  std::vector<Sharing> sharing;
  std::map<int, int> equals;
  for (User* const user : users) {
    const v1::WantDevices& wants = user->wants;
    ++equals[wants.priority()];
    Sharing& one = sharing.emplace_back(
        Sharing{user, wants.has_most_trials() ? wants.most_trials() : std::numeric_limits<int>::max(), memory_of_all});
    const DataNames& data = DataOfTrials(wants.experiment());
    if (data.empty() && !wants.has_requirements()) continue;
    std::vector<int64_t> memories = MemoriesOf(program, data, wants.requirements());
    one.most = std::min(one.most, static_cast<int>(memories.size()) + CountComing(program, data, wants.requirements()));
    if (!memories.empty()) one.memory = PlanningMemory(std::move(memories));
  }
  // Who can use little comes first: what is left is the others'.
  std::sort(sharing.begin(), sharing.end(), [](const Sharing& a, const Sharing& b) {
    return std::make_tuple(-a.user->wants.priority(), a.most, a.user->wants.experiment()) <
           std::make_tuple(-b.user->wants.priority(), b.most, b.user->wants.experiment());
  });
  for (const Sharing& one : sharing) {
    User& user = *one.user;
    // Those of its priority that have no share yet, this one included.
    int& equal = equals[user.wants.priority()];
    const int trials = std::min(one.most, (left + equal - 1) / equal);
    --equal;
    left -= trials;
    v1::DeviceShare share;
    share.set_trials(std::max(1, trials));
    share.set_device_memory(one.memory);
    std::optional<v1::DeviceShare>& told = user.told;
    if (told.has_value() && told->trials() == share.trials() && told->device_memory() == one.memory) continue;
    told = share;
    self_->send(user.actor, std::move(share));
  }
}

std::string TrainingServiceState::WhyNotMet(const v1::RequirementsConfig& requirements, const DataNames& data) const {
  std::vector<OfferedDevices> offered;
  for (const auto& entry : kinds_) {
    const Kind& kind = entry.second;
    if (!Has(kind, data)) continue;
    if (HasWhatIsRequired(kind, requirements)) return "";
    OfferedDevices& devices = offered.emplace_back();
    devices.kind = kind.device_kind;
    devices.labels = kind.labels;
    devices.count = static_cast<int>(kind.devices.size());
    for (const int number : kind.devices) {
      devices.memory = std::max(devices.memory, DeviceMemory(slots_.at(number).device));
    }
  }
  return WhyNoneMeets(requirements, std::move(offered));
}

std::string TrainingServiceState::Lacking(const v1::TrialSpec* trial, const DataNames& data) const {
  const std::string why = WhyNotThere();
  const std::string and_why = why.empty() ? "" : absl::StrCat("; ", why);
  const bool requires_something = trial != nullptr && trial->has_requirements();
  const std::string device = requires_something ? absl::StrCat("a device that meets its requirements (",
                                                               RequirementsText(trial->requirements()), ")")
                                                : "a device";
  if (kinds_.empty() && why.empty() && !absent_.empty()) {
    return absl::StrCat(device, ": this head has none of its own, and of its nodes none has returned (",
                        absl::StrJoin(absent_, ", "), ")");
  }
  if (kinds_.empty()) {
    return why.empty() ? absl::StrCat(device, ": this head has none of its own, and no node has joined it")
                       : absl::StrCat(device, ": ", why);
  }
  const bool has_data =
      std::any_of(kinds_.begin(), kinds_.end(), [&data](const auto& entry) { return Has(entry.second, data); });
  if (!has_data) {
    return absl::StrCat("a node that has the data '", absl::StrJoin(data, "' and '"), "' (`node --data ", *data.begin(),
                        "=DIR`): none of those that are there has it", and_why);
  }
  if (requires_something) {
    if (const std::string why_not = WhyNotMet(trial->requirements(), data); !why_not.empty()) {
      return absl::StrCat(device, ": ", why_not, data.empty() ? "" : ", of nodes that have its data", and_why);
    }
  }
  const v1::TrialSpec& spec = trial != nullptr ? *trial : v1::TrialSpec::default_instance();
  const int64_t required = spec.requirements().min_device_memory();
  int devices = 0;
  for (const Kind* const kind : KindsFor(spec)) {
    if (!Has(*kind, data)) continue;
    if (FirstWith(*kind, kind->usable, required) != nullptr) return "";
    devices += static_cast<int>(kind->devices.size());
  }
  const bool too_soon = trial != nullptr && std::any_of(kinds_.begin(), kinds_.end(), [&](const auto& entry) {
                          const Kind& kind = entry.second;
                          return !kind.usable.empty() && Runs(kind, trial->program()) && Has(kind, data) &&
                                 HasWhatIsRequired(kind, trial->requirements()) &&
                                 EndsTooSoon(kind, trial->experiment());
                        });
  if (too_soon) {
    return absl::StrCat("a device that is there for longer: the jobs of all others end before its trial would",
                        and_why);
  }
  if (devices > 0) {
    return absl::StrCat(device, ": each of the ", devices,
                        " that could run it is down, or its node is silent or drained", and_why);
  }
  // A discovery takes any program: where its data is there, so is a device for it.
  return absl::StrCat("a node with the program that discovered its space (build id ", spec.program(),
                      "): none of those that are there", data.empty() ? "" : " and have its data",
                      requires_something ? " and meet its requirements" : "", " runs it", and_why);
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
