// WorkerActor: owns one device and its trial process, keeps the process warm, replaces it, and says why it ended.
//
//                (1)            (2)                 (3)
//   STARTING ---------> IDLE ---------> RUNNING ---------> IDLE
//      ^                  \   (4)                  (5)      |
//      |                   ---------> DISCOVERING -----> IDLE
//      +------------------------- (6) ----------------------+
//
//   1. Ready came: the owner gets WorkerReady.
//   2. TrialSpec came. A deadline is set when the trial starts.
//   3. TrialEnded came, and the process is fit for another trial.
//   4. Discover came. Each run of the constructor has a deadline of its own.
//   5. Discovered came.
//   6. The process ended, by itself or because we killed it: after a failure, past its memory, past a deadline. In
//   RUNNING, models that had
//      not ended have FAILED with the reason (CANCELED where that was asked for); in DISCOVERING the request goes to
//      the next process, which skips what ended this one.
//
// Where no process comes up three times in a row the worker gives up; its owner, who monitors it, gets its trial back.
#ifndef LANISTA_ACTORS_WORKER_H_
#define LANISTA_ACTORS_WORKER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "actors/interfaces.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "caf/typed_response_promise.hpp"
#include "src/base/trial_channel.h"

namespace lanista {

// With its messages to itself: what the process (of that generation) sent, that it ended, and deadlines: of generation
// and step.
using WorkerSelf =
    WorkerActor::extend<caf::reacts_to<int32_t, v1::TrialEvent>, caf::reacts_to<int32_t, v1::ProcessExited>,
                        caf::reacts_to<deadline_atom, int32_t, int32_t>, caf::reacts_to<kill_atom, int32_t, int32_t>>;

struct WorkerConfig {
  // Its number in its service.
  int number = 0;
  v1::Device device;
  // Makes a trial process (not started).
  std::function<std::unique_ptr<TrialChannel>()> make_channel;
};

class WorkerState {
 public:
  static inline const char* name = "worker";

  explicit WorkerState(WorkerSelf::pointer self) : self_(self) {}

  WorkerSelf::behavior_type MakeBehavior(WorkerConfig config, WorkerOwnerActor owner);

 private:
  enum class Phase { kStarting, kIdle, kRunning, kDiscovering };

  void StartProcess();
  // Ends the process at once; its end is then handled as ever.
  void ReplaceProcess();
  void BecomeIdle();

  void OnReady();
  void OnModelEvent(v1::ModelEvent event);
  void OnTrialEnded(const v1::TrialEnded& ended);
  void OnDiscovering(const v1::Discovering& discovering);
  void OnDiscovered(v1::Discovered discovered);
  void OnExit(const v1::ProcessExited& exited);
  void OnDeadline(int step);
  // Of the trial: trial_timeout for each model that it trains.
  google::protobuf::Duration TimeLimit() const;
  // The failure of a process that ended so.
  v1::Failure Explain(const v1::ProcessExited& exited) const;
  // Begins a step of the work: a trial, a run of the constructor. Deadlines of earlier steps are void from here on.
  void SetDeadline(const google::protobuf::Duration& time_limit);

  WorkerSelf::pointer self_;
  // Itself, until it quits. Without it the last to hold the worker could be the channel's thread, for as long as that
  // sends a message: it would end the worker, and with it the channel, and wait for itself.
  WorkerSelf keep_alive_;
  WorkerConfig config_;
  WorkerOwnerActor owner_;

  Phase phase_ = Phase::kStarting;
  std::unique_ptr<TrialChannel> channel_;
  // Counts processes: messages of an earlier one are stale.
  int generation_ = 0;
  int step_ = 0;
  int failed_starts_ = 0;

  // RUNNING: the trial, the models that have not ended with their last sequence number, and why the process is being
  // killed, if it is.
  v1::TrialSpec spec_;
  std::map<int, int> open_models_;
  bool model_failed_ = false;
  bool canceled_ = false;
  bool timed_out_ = false;

  // DISCOVERING: the request (with what to skip), what is being tried, who waits.
  v1::Discover discover_;
  v1::Sample assignment_;
  caf::typed_response_promise<v1::Discovered> discover_promise_;
};

// Spawn it detached: starting and ending processes blocks. Ends with its owner.
WorkerSelf::behavior_type Worker(WorkerSelf::stateful_pointer<WorkerState> self, WorkerConfig config,
                                 WorkerOwnerActor owner);

}  // namespace lanista

#endif  // LANISTA_ACTORS_WORKER_H_
