// TrainingServiceActor: owns the pool of devices and the queue of trials.
//
// Plain classes know the rest, and this joins them to messages: which devices there are and are alike (DevicePool),
// where work may run (Placement) and why it does not (WaitingWork), which trial is next (TrialQueue), how much of the
// pool each experiment gets (DeviceShares), and what may still come (ExpectedDevices).
//
// Trials that ran on nodes when the head before this one ended wait for these nodes, for a while (ReturningTrials).
// Those that came back count as running; what is said of them goes by their node's worker.
//
// A node keeps what a trial said until its worker hears that all of it is in the journal (EventsRecorded of model 0),
// or that nobody will ever write it there. By then the device's worker may be idle, busy with something else, or gone,
// so that is said to the node's own.
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
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actors/device_pool.h"
#include "actors/device_shares.h"
#include "actors/ended_trials.h"
#include "actors/expected_devices.h"
#include "actors/interfaces.h"
#include "actors/placement.h"
#include "actors/queued_discovery.h"
#include "actors/returning_trials.h"
#include "actors/trial_history.h"
#include "actors/trial_queue.h"
#include "actors/waiting_work.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/config/labels.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

// Makes the worker with a number for a device of this machine.
using SpawnWorker = std::function<WorkerActor(int number, const v1::Device& device, const WorkerOwnerActor& owner)>;

struct TrainingServiceOptions {
  // The devices of this machine.
  std::vector<v1::Device> devices;
  SpawnWorker spawn_worker;
  // So many trial processes may be starting on this machine at a time; at least 1.
  int max_starting = 2;
  // Devices may join later: work that no device can run now waits for one.
  bool open = false;
  TelemetryPtr telemetry = std::make_shared<Telemetry>();
  // How long trials wait for the nodes that may bring them back.
  std::chrono::milliseconds return_limit{std::chrono::minutes(2)};
  // The nodes that the head before this one had.
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
  using Slot = DevicePool::Slot;
  using TimePoint = DevicePool::TimePoint;

  // Gives a device of this machine its worker.
  void Spawn(Slot& slot);
  void SetWorker(Slot& slot, WorkerActor worker);

  void OnReady(const v1::WorkerReady& ready);
  void OnProcessUp(const v1::ProcessUp& up);
  void OnTrialEnded(const v1::TrialEnded& ended);
  void OnModelEvent(v1::ModelEvent event);
  void OnStop(const v1::StopModel& stop);
  void OnRecorded(v1::EventsRecorded recorded);
  void OnTrial(v1::TrialSpec spec, const TrialOwnerActor& owner);
  // Watches an owner, and notes what its trials read, where this is the first of them.
  void NoteOwner(const TrialOwnerActor& owner, const v1::TrialSpec& trial);
  v1::DeviceAdded OnJoined(v1::DeviceJoined joined, const v1::NodeOffer& offer, WorkerActor worker);
  void OnWant(v1::WantDevices wants, const DeviceUserActor& user);
  v1::DeviceDemand OnExpect(v1::ExpectDevices expect);

  // Trials that nodes may bring back.
  void OnReturning(const v1::ReturningTrials& trials, const TrialOwnerActor& owner);
  caf::result<v1::KeptTrials> OnNodeReturned(const v1::NodeReturned& returned, const WorkerActor& worker);
  void CancelReturning(const std::string& experiment, const caf::actor_addr& owner);
  // A node need not keep any longer what that trial of its said.
  void Release(const std::string& experiment, int trial, const WorkerActor& worker);
  // The trial has ended on a node: `worker` hears when it is in the journal.
  void AwaitJournal(const QueuedTrial& trial, const WorkerActor& worker);

  // Gives idle workers what waits.
  void Assign();
  // All trials of the experiment, or those of one owner: a stopped engine may end after its experiment was resumed.
  void Cancel(const std::string& experiment, const caf::actor_addr& owner = caf::actor_addr());
  // What the slot runs is over.
  void ForgetRunning(const v1::TrialSpec& trial);
  // Writes into the log that an attempt ended otherwise than its evaluator wanted.
  static void LogEnd(const v1::ModelEvent& event, const v1::Device& device);
  // The slot whose worker runs that trial; nullptr if none does.
  Slot* FindRunning(const std::string& experiment, int trial);

  // In training_service_discoveries.cc: discoveries and conversions.
  caf::result<v1::Discovered> OnDiscover(v1::Discover request);
  // Gives idle workers those that wait.
  void AssignDiscoveries(TimePoint now);
  void StartDiscovery(Slot& slot);
  void OnDiscoveryFailed(int number, const caf::error& error);
  // Nobody needs those any more whose experiments go on with trials of nodes.
  void AnswerNeedless();
  void CancelDiscovery(const std::string& experiment);
  // The worker could not do it.
  void LoseDiscovery(const Slot& slot, QueuedDiscovery discovery);

  // In training_service_losses.cc: what goes down, and what becomes of the work that was there.
  void OnDown(const caf::down_msg& down);
  void OnWorkerDown(int number);
  // A device of this machine gets its next worker, now or later, or is given up.
  void Restart(Slot& slot);
  // A device leaves with its worker.
  void Remove(Slot& slot);
  // The device left before the trial began there: it waits for another one.
  void ReturnTrial(QueuedTrial trial);
  // A node could not take work of the experiment (TrialHistory::AddRefusal): other experiments go before it for a
  // while.
  void NoteRefusal(const std::string& experiment);
  // Nobody is left who could do what waits.
  void LoseAll();
  // Ends the attempts of its models as LOST, because of the last failure.
  void LoseTrial(const QueuedTrial& trial, v1::ModelEnded::LostCause cause);
  // All models of the trial ended so, by no doing of theirs.
  void EndTrial(const QueuedTrial& trial, v1::ModelEnded::Outcome outcome, const v1::Failure& failure = {},
                v1::ModelEnded::LostCause lost_cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED);
  // They do not come back, for this reason.
  void LoseReturning(const ReturningTrials::Lost& lost, const std::string& why);
  // It is over.
  void ForgetReturning(const ReturningTrials::Trial& trial);

  bool CanNeverRun() const { return !options_.open && pool_.kinds().empty(); }

  // The pool, or who uses it, has changed: all that follows is done once, when what came with it has been handled.
  void PoolChanged();
  void OnPoolChanged();
  // Writes into the log where an experiment begins to wait for what is lacking, or waits no longer.
  void LogLacking(const std::string& experiment);

  // Tells telemetry what waits.
  void CountQueue();

  TrainingServiceSelf::pointer self_;
  TrainingServiceOptions options_;
  DevicePool pool_{[this] { PoolChanged(); }};
  // The workers' slots.
  std::map<caf::actor_addr, int> numbers_;
  ExpectedDevices expected_;
  DeviceShares shares_;
  TrialHistory history_;
  Placement placement_{pool_, history_};
  // By experiment and trial: the slot's number.
  std::map<std::string, std::map<int, int>> running_;
  TrialQueue queue_;
  ReturningTrials returning_;
  // Nodes of the head before that have not returned.
  std::set<std::string> absent_;
  EndedTrials ended_;
  std::deque<QueuedDiscovery> discoveries_;
  WaitingWork waiting_{{queue_, discoveries_, returning_}, {pool_, placement_, expected_, history_, absent_}};
  // Whose trials were taken, and their experiment.
  std::map<caf::actor_addr, std::string> owners_;
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
