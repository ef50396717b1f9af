// TrainingServiceActor: owns all devices and the queue of trials.
//
// A worker is idle from its WorkerReady until it gets work. What waits goes to idle workers at once: first discoveries,
// then trials in TrialQueue's order; first to workers whose process is up, then to as many others as may start a
// process at the same time. So no more processes are started than there is work for.
//
// Each worker is monitored: the trial of one that went down has LOST its attempt (the machine's fault; the owner
// decides what follows), its discovery is the next worker's (a bounded number of times), and the device gets a new
// worker: at once, then after a delay that doubles as long as no work is done there. A device on which no work was ever
// done is given up after a few workers. Where no device is left, all that waits is lost, too.
//
// The owners of trials are monitored, too: what one that went down had queued is dropped, what runs is canceled.
#ifndef LANISTA_ACTORS_TRAINING_SERVICE_H_
#define LANISTA_ACTORS_TRAINING_SERVICE_H_

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "actors/trial_queue.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "caf/typed_response_promise.hpp"

namespace lanista {

// Makes the worker with a number for a device.
using SpawnWorker = std::function<WorkerActor(int number, const v1::Device& device, const WorkerOwnerActor& owner)>;

struct TrainingServiceOptions {
  std::vector<v1::Device> devices;
  SpawnWorker spawn_worker;
  // So many trial processes may be starting at a time; at least 1.
  int max_starting = 2;
};

// With its message to itself: it is time for the slot's next worker.
using TrainingServiceSelf = TrainingServiceActor::extend<caf::reacts_to<deadline_atom, int32_t>>;

class TrainingServiceState {
 public:
  static inline const char* name = "training_service";

  explicit TrainingServiceState(TrainingServiceSelf::pointer self) : self_(self) {}

  TrainingServiceSelf::behavior_type MakeBehavior(TrainingServiceOptions options);

 private:
  struct Discovery {
    v1::Discover request;
    caf::typed_response_promise<v1::Discovered> promise;
    // Workers that went down with it.
    int lost = 0;
  };
  struct Slot {
    v1::Device device;
    // Null: given up, or the next one has to wait.
    WorkerActor worker;
    bool given_up = false;
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
  };

  void Spawn(size_t slot);
  // Gives idle workers what waits.
  void Assign();
  // The worker that gets the next work; nullptr: none may.
  Slot* NextWorker();
  void StartDiscovery(Slot& slot);
  void OnDown(const caf::down_msg& down);
  void OnWorkerDown(size_t slot);
  // Nobody is left who could do what waits.
  void LoseAll();
  void Cancel(const std::string& experiment);
  // Work was done: the device is well.
  static void Worked(Slot& slot);
  // All models of the trial ended so, by no doing of theirs.
  void EndTrial(const QueuedTrial& trial, v1::Outcome outcome, const v1::Failure& failure = {},
                v1::LostCause lost_cause = v1::LOST_CAUSE_UNSPECIFIED);
  // As LOST, for the last failure.
  void LoseTrial(const QueuedTrial& trial);
  // The slot whose worker runs that trial; nullptr if none does.
  Slot* FindRunning(const std::string& experiment, int trial);
  bool AnyDeviceLeft() const;

  TrainingServiceSelf::pointer self_;
  TrainingServiceOptions options_;
  std::vector<Slot> slots_;
  TrialQueue queue_;
  std::deque<Discovery> discoveries_;
  // Whose trials were taken, and their experiment.
  std::map<caf::actor_addr, std::string> owners_;
  // Why the last worker went down.
  absl::Status last_failure_;
};

// Spawns one worker for each device at once.
TrainingServiceSelf::behavior_type TrainingService(TrainingServiceSelf::stateful_pointer<TrainingServiceState> self,
                                                   TrainingServiceOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_TRAINING_SERVICE_H_
