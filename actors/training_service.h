// TrainingServiceActor: owns all devices and the queue of trials.
//
// A worker is idle from its WorkerReady until it gets work. What waits goes to idle workers at once: first discoveries,
// then trials in TrialQueue's order. Each worker is monitored: the trial of one that went down has LOST its attempt
// (the machine's fault; the owner decides what follows), its discovery is the next worker's, and the device gets a new
// worker, a bounded number of times. Where no worker is left, all that waits is lost, too.
#ifndef LANISTA_ACTORS_TRAINING_SERVICE_H_
#define LANISTA_ACTORS_TRAINING_SERVICE_H_

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/interfaces.h"
#include "actors/trial_queue.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "caf/typed_response_promise.hpp"

namespace lanista {

// Makes the worker with a number for a device.
using SpawnWorker = std::function<WorkerActor(int number, const v1::Device& device, const WorkerOwnerActor& owner)>;

class TrainingServiceState {
 public:
  static inline const char* name = "training_service";

  explicit TrainingServiceState(TrainingServiceActor::pointer self) : self_(self) {}

  TrainingServiceActor::behavior_type MakeBehavior(std::vector<v1::Device> devices, SpawnWorker spawn_worker);

 private:
  struct Discovery {
    v1::Discover request;
    caf::typed_response_promise<v1::Discovered> promise;
  };
  struct Slot {
    v1::Device device;
    WorkerActor worker;
    bool idle = false;
    int restarts = 0;
    // What runs there: at most one of the two.
    std::optional<QueuedTrial> trial;
    std::optional<Discovery> discovery;
  };

  void Spawn(size_t slot);
  // Gives idle workers what waits.
  void Assign();
  void StartDiscovery(Slot& slot);
  void OnWorkerDown(const caf::down_msg& down);
  // All models of the trial ended so, by no doing of theirs.
  void EndTrial(const QueuedTrial& trial, v1::Outcome outcome, const v1::Failure& failure = {});
  // The slot whose worker runs that trial; nullptr if none does.
  Slot* FindRunning(const std::string& experiment, int trial);
  bool AnyWorkerLeft() const;

  TrainingServiceActor::pointer self_;
  SpawnWorker spawn_worker_;
  std::vector<Slot> slots_;
  TrialQueue queue_;
  std::deque<Discovery> discoveries_;
  // Why the last worker went down for good.
  std::string last_failure_;
};

// Spawns one worker for each device at once.
TrainingServiceActor::behavior_type TrainingService(TrainingServiceActor::stateful_pointer<TrainingServiceState> self,
                                                    std::vector<v1::Device> devices, SpawnWorker spawn_worker);

}  // namespace lanista

#endif  // LANISTA_ACTORS_TRAINING_SERVICE_H_
