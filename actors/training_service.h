// TrainingServiceActor: owns the pool of devices and the queue of trials.
//
// Trials that ran on nodes when the head before this one ended wait for these nodes, for a while (ReturningTrials).
// Those that came back count as running; what is said of them goes by their node's worker.
//
// What a trial of a node's said has a way back: that all of it is in the journal (EventsRecorded of model 0), or that
// nobody will ever write it there, goes to the worker, which may be idle or busy with something else by then.
//
// Devices come and go. Those of this machine are there from the beginning and get a new worker whenever theirs goes
// down. Others join with their worker, and leave with it. Each has a number, which no other ever gets.
//
// A worker is idle from its WorkerReady until it gets work. What waits goes to idle workers at once: first discoveries,
// then trials in TrialQueue's order; first to workers whose process is up, then, on this machine, to as many others as
// may start a process at the same time. So no more processes are started than there is work for. A node that is held
// gets nothing.
//
// A trial goes to a device that runs the program which discovered its space, and that has room for it: where none of
// the pool has, to one of the largest. Devices of nodes that drain, and those that fail again and again, do not count
// there: nobody knows whether they will ever take another trial. It goes to devices alone that meet the requirements of
// its experiment (TrialSpec.requirements), and where it reads data (data://NAME), to nodes that have all of it. A
// discovery goes to any device with its data. It tells which program runs there (a device that
// joins may say so itself), so devices of which nothing is known get discoveries first, and no trial that names a
// program: another program may not have its space. All devices of a node run the same programs; more than one, where
// the program's file was replaced.
//
// Beside its devices a machine may have a place for preparing work (Device.prepares). It takes a discovery that no
// device is idle for, so that none waits for training, and conversions; it is no device in anything that is counted
// here. A place has no accelerator, and shares the machine's memory with what trains: where that ran out, or where
// something did not run there on a machine with GPUs, a device does it again.
//
// A conversion (Discover.convert) goes to the place of a node that runs the program of its model's space, and has the
// data, and nowhere else: whoever asks has a program of its own for where there is none. So it waits only while such a
// place is busy, ends where the last of them goes, and nobody calls nodes for it.
//
// Each worker is monitored: the trial of one that went down has LOST its attempt (the machine's fault; the owner
// decides what follows). A node says what becomes of what began there: another trial of its devices did not begin, and
// waits again, before its equals. A discovery is the next worker's (a bounded number of times; ABORTED, by which a
// node's worker says that it left, does not count), and a device of this machine gets a new worker: at once, then after
// a delay that doubles as long as no work is done there.
//
// A device may have an end (its node is a job with a time limit). A trial goes there only if it is likely to end before
// that: if the longest of its experiment's last trials would. Where a device of such a node would never have the time,
// because even all of its life is too short, that does not count: the trial goes on elsewhere from its checkpoint.
//
// Nodes may come by themselves (ExpectDevices): shares count on them, what waits is told why they are not there, and
// their source learns how much waits for them.
//
// A pool is open or not. In one that is not, a device on which no work was ever done is given up after a few workers;
// where no device is left, all that waits is lost, and so is what comes. In an open one no device is given up: what
// cannot run now waits for devices, and the log says what for.
//
// Experiments that use devices are told their share of them: of those that run an experiment's program, what a higher
// priority leaves is divided evenly, but nobody gets more than it can use, or less than one trial. A share limits
// nobody: it says how many trials an experiment should keep queued or running; the queue decides who gets a device.
//
// The owners of trials are monitored, too: what one that went down had queued is dropped, what runs is canceled.
#ifndef LANISTA_ACTORS_TRAINING_SERVICE_H_
#define LANISTA_ACTORS_TRAINING_SERVICE_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "actors/returning_trials.h"
#include "actors/trial_queue.h"
#include "caf/actor_clock.hpp"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "caf/typed_response_promise.hpp"
#include "src/config/labels.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

// Makes the worker with a number for a device of this machine.
using SpawnWorker = std::function<WorkerActor(int number, const v1::Device& device, const WorkerOwnerActor& owner)>;

struct TrainingServiceOptions {
  // Of this machine.
  std::vector<v1::Device> devices;
  SpawnWorker spawn_worker;
  // So many trial processes may be starting on this machine at a time; at least 1.
  int max_starting = 2;
  // Devices may join: what has none waits for one.
  bool open = false;
  TelemetryPtr telemetry = std::make_shared<Telemetry>();
  // So long trials wait for nodes that may bring them back.
  std::chrono::milliseconds return_limit{std::chrono::minutes(2)};
  // The nodes of the head before.
  std::set<std::string> nodes = {};
  // The names of the data that this machine has, and its labels.
  std::set<std::string> data{};
  Labels labels{};
};

// With its messages to itself: it is time for a device's next worker; the pool has changed; an experiment's trials have
// waited for their nodes for long enough; nodes may be asked again to take an experiment's work.
using TrainingServiceSelf =
    TrainingServiceActor::extend<caf::reacts_to<deadline_atom, int32_t>, caf::reacts_to<caf::tick_atom>,
                                 caf::reacts_to<deadline_atom, std::string>,
                                 caf::reacts_to<caf::tick_atom, std::string>>;

class TrainingServiceState {
 public:
  static inline const char* name = "training_service";

  explicit TrainingServiceState(TrainingServiceSelf::pointer self) : self_(self) {}
  ~TrainingServiceState();

  TrainingServiceSelf::behavior_type MakeBehavior(TrainingServiceOptions options);

 private:
  using TimePoint = caf::actor_clock::time_point;
  using DataNames = std::set<std::string>;
  struct Discovery {
    v1::Discover request;
    caf::typed_response_promise<v1::Discovered> promise;
    // The names of what it reads.
    DataNames data;
    // Workers of this machine, and nodes, that went down with it.
    int lost_workers = 0;
    std::set<std::string> lost_nodes;
    // A place could not do it.
    bool needs_device = false;
    // A conversion: nodes that gave it back or went down with it.
    int places = 0;
    // Nobody waits for it any more: it comes to its end where it is.
    bool canceled = false;
  };
  // Devices that are alike: the same trials may run there. By number.
  struct Kind {
    bool local = false;
    // Empty: not known.
    std::set<std::string> programs;
    // As DeviceMemory, rounded down: a machine's memory differs from its sister's by some pages. And the smallest of
    // them, as it is.
    int64_t memory = 0;
    int64_t least_memory = 0;
    // What their node has.
    DataNames data;
    v1::DeviceKind device_kind = v1::DEVICE_KIND_UNSPECIFIED;
    Labels labels;
    // When they are gone (TimePoint::max(): nobody knows), and how long that was after their node had begun.
    TimePoint ends;
    std::chrono::milliseconds lifetime{0};
    std::set<int> devices;
    // Those that take trials now or are likely to do so soon: all but those of nodes that drain, and those that fail
    // again and again.
    std::set<int> staying;
    // Those with a worker that are not held, and among these the ones that are idle.
    std::set<int> usable;
    std::set<int> idle_warm;
    std::set<int> idle_cold;
  };
  using KindKey = std::tuple<bool, std::set<std::string>, int64_t, DataNames, TimePoint, v1::DeviceKind, Labels>;
  struct Slot {
    int number = 0;
    v1::Device device;
    // Of this machine.
    bool local = false;
    // Null: given up, or the next one has to wait.
    WorkerActor worker;
    TimePoint ends = TimePoint::max();
    std::chrono::milliseconds lifetime{0};
    DataNames data;
    Labels labels;
    // Where it is listed; null: nowhere.
    Kind* kind = nullptr;
    bool given_up = false;
    bool held = false;
    // Its node drains.
    bool leaving = false;
    bool idle = false;
    // Its trial process is up.
    bool warm = false;
    // It has work, and its trial process is not up yet.
    bool starting = false;
    // Some work was done here.
    bool works = false;
    // Workers that went down since work was last done here.
    int downs = 0;
    // What runs there: at most one of the two.
    std::optional<QueuedTrial> trial;
    std::optional<Discovery> discovery;
    // When the trial was assigned.
    TimePoint assigned;
    // For telemetry.
    CountedIn use;
  };
  // A trial that has ended on a node, and is not known to be in the journal.
  struct EndedTrial {
    WorkerActor worker;
    caf::actor_addr owner;
  };
  // This machine, or one that joined.
  struct Node {
    // What was discovered there.
    std::set<std::string> programs;
    std::set<int> slots;
  };
  // Nodes that gave work of an experiment back, since the last of it was done.
  struct Refusals {
    int count = 0;
    std::string because;
    // No node is asked before.
    TimePoint until = TimePoint::min();
  };
  // Whoever was told its share.
  struct User {
    v1::WantDevices wants;
    DeviceUserActor actor;
    std::optional<v1::DeviceShare> told;
  };

  // The slot with that number; nullptr: it has left.
  Slot* Find(int number);
  Slot& AddSlot(v1::Device device, bool local, DataNames data, Labels labels);
  // Gives a device of this machine its worker.
  void Spawn(Slot& slot);
  void SetWorker(Slot& slot, WorkerActor worker);
  // This machine's name in `nodes_` is empty: a node may be called as it is.
  Node& NodeOf(const Slot& slot) { return nodes_[slot.local ? "" : slot.device.node()]; }
  static KindKey KeyOf(const Kind& kind);
  // Enters the slot among those that are like it.
  void List(Slot& slot);
  void Unlist(Slot& slot);
  // Enters where Assign looks what it does now. REQUIRES: it is listed, or a place.
  void Update(Slot& slot);
  // The program runs on the slot's node.
  void Learn(const Slot& slot, const std::string& program);
  // A device leaves with its worker.
  void Remove(Slot& slot);

  void OnReady(const v1::WorkerReady& ready);
  void OnProcessUp(const v1::ProcessUp& up);
  void OnTrialEnded(const v1::TrialEnded& ended);
  void OnModelEvent(v1::ModelEvent event);
  void OnStop(const v1::StopModel& stop);
  void OnRecorded(v1::EventsRecorded recorded);
  void OnTrial(v1::TrialSpec spec, const TrialOwnerActor& owner);
  caf::result<v1::Discovered> OnDiscover(v1::Discover request);
  v1::DeviceList OnList(const v1::ListDevices& list) const;
  v1::DeviceAdded OnJoined(v1::DeviceJoined joined, const v1::NodeOffer& offer, WorkerActor worker);
  void OnHold(const v1::HoldNode& hold);
  void OnWant(v1::WantDevices wants, const DeviceUserActor& user);
  v1::DeviceDemand OnExpect(v1::ExpectDevices expect);

  // Of trials that nodes may bring back.
  void OnReturning(const v1::ReturningTrials& trials, const TrialOwnerActor& owner);
  caf::result<v1::KeptTrials> OnNodeReturned(const v1::NodeReturned& returned, const WorkerActor& worker);
  void CancelReturning(const std::string& experiment, const caf::actor_addr& owner);
  // They do not come back, for this reason.
  void LoseReturning(const ReturningTrials::Lost& lost, const std::string& why);
  // It is over.
  void ForgetReturning(const ReturningTrials::Trial& trial);
  // A node need not keep any longer what that trial of its said.
  void Release(const std::string& experiment, int trial, const WorkerActor& worker);
  // The trial has ended on a node: its worker hears when it is in the journal.
  void AwaitJournal(const QueuedTrial& trial, const WorkerActor& worker);

  // Gives idle workers what waits.
  void Assign();
  // Whether trials of that program may run there.
  static bool Runs(const Kind& kind, const std::string& program);
  // Whether all of the data is there.
  static bool Has(const Kind& kind, const DataNames& data);
  // What the experiment's trials read.
  const DataNames& DataOfTrials(const std::string& experiment) const;
  // Negative: it is over.
  std::chrono::milliseconds Until(TimePoint time) const;
  // Whether a trial of the experiment is likely to take longer than the device is there, and would have had the time
  // when it joined.
  bool EndsTooSoon(const Kind& kind, const std::string& experiment) const;
  // The first of these devices of the kind with so much memory; nullptr: none has it. (A kind's devices differ by a
  // little.)
  Slot* FirstWith(const Kind& kind, const std::set<int>& numbers, int64_t memory);
  const Slot* FirstWith(const Kind& kind, const std::set<int>& numbers, int64_t memory) const;
  // Whether some of its devices meet the requirements.
  bool HasWhatIsRequired(const Kind& kind, const v1::RequirementsConfig& requirements) const;
  // Those where the trial may run.
  std::vector<const Kind*> KindsFor(const v1::TrialSpec& trial) const;
  // An idle worker that may get work now, on a device with so much memory; nullptr: there is none.
  Slot* Idle(const Kind& kind, int64_t memory = 0);
  Slot* IdleFor(const v1::TrialSpec& trial);
  Slot* IdleForDiscovery(const Discovery& discovery);
  // An idle place; nullptr: there is none.
  Slot* PlaceFor(const Discovery& discovery);
  // Whether the place, idle or not, may take the conversion.
  bool MayConvert(const Slot& place, const Discovery& conversion);
  // Why no place may; OK: one may.
  absl::Status CheckConversion(const Discovery& conversion);
  // Whether a device of the place's machine may discover what the place could not.
  bool NeedsDevice(const Slot& place, const v1::Discovered& discovered);
  void SetStarting(Slot& slot, bool starting);
  void StartDiscovery(Slot& slot);
  void OnDiscoveryFailed(int number, const caf::error& error);
  void OnDown(const caf::down_msg& down);
  void OnWorkerDown(int number);
  // A device of this machine gets its next worker, now or later, or is given up.
  void Restart(Slot& slot);
  // The worker could not do it.
  void LoseDiscovery(const Slot& slot, Discovery discovery);
  // Nobody is left who could do what waits.
  void LoseAll();
  // All trials of the experiment, or those of one owner: a stopped engine may end after its experiment was resumed.
  void Cancel(const std::string& experiment, const caf::actor_addr& owner = caf::actor_addr());
  void CancelDiscovery(const std::string& experiment);
  // Work was done: the device is well.
  static void Worked(Slot& slot);
  // What the slot runs is over.
  void ForgetRunning(const v1::TrialSpec& trial);
  // Writes into the log that an attempt ended otherwise than its evaluator wanted.
  static void LogEnd(const v1::ModelEvent& event, const v1::Device& device);
  // All models of the trial ended so, by no doing of theirs.
  void EndTrial(const QueuedTrial& trial, v1::Outcome outcome, const v1::Failure& failure = {},
                v1::LostCause lost_cause = v1::LOST_CAUSE_UNSPECIFIED);
  // The device left before the trial began there: it waits for another one.
  void ReturnTrial(QueuedTrial trial);
  // A node could not take work of the experiment, perhaps because its data has no room there: other experiments go
  // before it for a while that grows, because it would be the first to be asked for again.
  void NoteRefusal(const std::string& experiment);
  // Whether that is so now.
  bool WasRefused(const std::string& experiment) const;
  // As LOST, for the last failure.
  void LoseTrial(const QueuedTrial& trial, v1::LostCause cause);
  // The slot whose worker runs that trial; nullptr if none does.
  Slot* FindRunning(const std::string& experiment, int trial);
  bool CanNeverRun() const { return !options_.open && kinds_.empty(); }

  // The pool, or who uses it, has changed: all that follows is done once, when what came with it has been handled.
  void PoolChanged();
  void OnPoolChanged();
  std::map<std::string, std::vector<User*>> UsersByProgram();
  void Share(const std::string& program, const std::vector<User*>& users);
  // Of each device that may run such trials: its memory.
  std::vector<int64_t> MemoriesOf(const std::string& program, const DataNames& data,
                                  const v1::RequirementsConfig& requirements) const;
  // How many devices more, for such trials, may be counted on.
  int CountComing(const std::string& program, const DataNames& data, const v1::RequirementsConfig& requirements) const;
  // Whether devices that may come would meet the requirements, as far as is known.
  bool MayMeet(const v1::ExpectDevices& expected, const v1::RequirementsConfig& requirements) const;
  // Why no device with this data meets the requirements; empty: one does.
  std::string WhyNotMet(const v1::RequirementsConfig& requirements, const DataNames& data) const;
  // What is lacking for a trial, or (nullptr) for a discovery, that reads this data; empty: nothing.
  std::string Lacking(const v1::TrialSpec* trial, const DataNames& data) const;
  // Why nodes that may come are not there; empty: nobody says so.
  std::string WhyNotThere() const;
  std::string LackingFor(const std::string& experiment) const;
  // Writes into the log where an experiment begins to wait for what is lacking, or waits no longer.
  void LogLacking(const std::string& experiment);

  // Tells telemetry what waits.
  void CountQueue();
  static DeviceUse UseOf(const Slot& slot);

  TrainingServiceSelf::pointer self_;
  TrainingServiceOptions options_;
  std::map<int, Slot> slots_;
  int last_number_ = -1;
  std::map<caf::actor_addr, int> numbers_;
  // By name.
  std::map<std::string, Node> nodes_;
  std::map<KindKey, Kind> kinds_;
  // Places for preparing work, by number.
  std::set<int> places_;
  // Slots that are starting.
  int starting_ = 0;
  // By experiment and trial: the slot's number.
  std::map<std::string, std::map<int, int>> running_;
  TrialQueue queue_;
  ReturningTrials returning_;
  // Nodes of the head before that have not returned.
  std::set<std::string> absent_;
  // By experiment and trial.
  std::map<std::string, std::map<int, EndedTrial>> ended_;
  std::deque<Discovery> discoveries_;
  // Whose trials were taken, and their experiment.
  std::map<caf::actor_addr, std::string> owners_;
  // What trials of an experiment read, where they read data.
  std::map<std::string, DataNames> data_;
  std::map<caf::actor_addr, User> users_;
  // How long the last trials of an experiment took.
  std::map<std::string, std::deque<std::chrono::milliseconds>> durations_;
  // By experiment.
  std::map<std::string, Refusals> refusals_;
  // By source.
  std::map<std::string, v1::ExpectDevices> expected_;
  // The most memory that devices of nodes had so far, by their kind and labels: what those are likely to have that may
  // come.
  std::map<std::pair<v1::DeviceKind, Labels>, int64_t> seen_memory_;
  // A tick is under way.
  bool pool_changed_ = false;
  // What the log has said of experiments that wait.
  std::map<std::string, std::string> logged_;
  // Why the last worker went down.
  absl::Status last_failure_;
};

// Spawns one worker for each device of this machine at once. Spawn it detached where there are many devices: none waits
// then for what others compute.
TrainingServiceSelf::behavior_type TrainingService(TrainingServiceSelf::stateful_pointer<TrainingServiceState> self,
                                                   TrainingServiceOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_TRAINING_SERVICE_H_
