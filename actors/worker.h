// WorkerActor: owns one device and its trial process, keeps the process warm, replaces it, and says why it ended.
//
// Two things go on beside each other. The process:
//
//   NONE --(1)--> STARTING --(2)--> READY --(3)--> NONE
//
//   1. There is work.
//   2. The process said so. It gets the work; the owner is told that it is up. Where it says instead that the device
//      cannot be used, the worker ends with that reason.
//   3. It ended by itself; or it was killed past a deadline: what it had sent before that counts, but it gets no more
//      work. Or the worker ends it after a trial or a discovery: a model failed in a way that may have damaged the
//      process (see SpoilsProcess), or the process outgrew its memory.
//
// and the work, which outlives processes:
//
//   IDLE --(4)--> TRIAL or DISCOVERY --(5)--> IDLE
//
//   4. The owner gives work. Where no process is READY the work waits for one.
//   5. The answer came; or the process ended. Then a trial's models that had not ended have FAILED with the reason
//      (CANCELED or STOPPED_EARLY where that was asked for; LOST where the trial had not begun, or where somebody else
//      killed the process: the model is not to blame), while a discovery goes to the next process, which skips what
//      ended this one. The owner is told that the worker is idle.
//
// A discovery may be another request than for a space: a conversion (Discover.convert). That ends with the process, and
// where somebody cancels it, the process ends with it.
//
// These steps of a process have a deadline: to become ready, to prepare a discovery or a trial (evaluators read their
// data), to convert a model, to run a constructor once, a trial with a time limit, and a trial that has to end: it was
// canceled, or all of its models that have not ended were stopped. Where no process comes up three times in a row the
// worker gives up; its owner, who monitors it, has the work back.
//
// A worker for preparing work alone (Device.prepares) ends its process once that was idle for a while.
//
// What a trial reports has a way back, by which the process hears what is recorded (src/trial_process/event_window.h).
// The time in which it had to wait for that does not count in the trial's time limit.
#ifndef LANISTA_ACTORS_WORKER_H_
#define LANISTA_ACTORS_WORKER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "actors/alarm.h"
#include "actors/interfaces.h"
#include "actors/model_events.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "caf/typed_response_promise.hpp"
#include "src/trial_process/channel.h"

namespace lanista {

// With its messages to itself: what the process (of that generation) sent, that it ended, and the deadline of a step.
using WorkerSelf = WorkerActor::extend<caf::reacts_to<int32_t, v1::TrialEvent>,
                                       caf::reacts_to<int32_t, v1::ProcessExited>, caf::reacts_to<deadline_atom>>;

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
  struct Process {
    // Null: there is none.
    std::unique_ptr<TrialChannel> channel;
    bool ready = false;
    // By us, past its step's deadline, for this reason.
    bool killed = false;
    std::string too_late;
  };
  struct Idle {};
  struct Trial {
    v1::TrialSpec spec;
    // Of the models that have not ended.
    std::map<int, OpenAttempt> open_models;
    bool begun = false;
    bool spoiled_process = false;
    bool canceled = false;
    // Models that were stopped.
    std::set<int> stopped;
    // It has to end: its last deadline.
    bool in_grace = false;
  };
  struct Discovery {
    // With what to skip.
    v1::Discover request;
    caf::typed_response_promise<v1::Discovered> promise;
    // What this process is trying.
    std::optional<v1::Sample> assignment;
    // The space is known, and `assignment` is a model that runs on a sample.
    bool trying = false;
    // Processes that somebody else killed.
    int lost = 0;
  };

  // Gives the work to the process, once one is up.
  void TakeWork();
  // Ends the process, if there is one, and starts another.
  void StartProcess();
  // Ends the process, if there is one.
  void StopProcess();
  // REQUIRES: the process is ready and was not killed, and there is work for it.
  void BeginWork();
  void BeginTrial(const Trial& trial);
  void BeginDiscovery(Discovery& discovery);
  // The work is over. A process that cannot go on, or is not to, is ended.
  void EndWork(bool end_process);
  // Tells the owner.
  void BecomeIdle();

  void OnCancel(v1::CancelTrial cancel);
  void OnStop(const v1::StopModel& stop);
  void SendStop(const v1::TrialSpec& trial, int model);
  // Whether every model that has not ended was stopped.
  static bool AllStopped(const Trial& trial);
  // From now on the trial has a moment to end.
  void BeginGrace(Trial& trial);
  void OnEvent(v1::TrialEvent event);
  void OnModelEvent(Trial& trial, v1::ModelEvent event);
  // The process said what cannot be: the trial has failed, and the process, which runs the user's code, is ended.
  void FailTrial(const Trial& trial, const std::string& why);
  void OnTrialEnded(const Trial& trial, const v1::TrialEnded& ended);
  // Of log lines about it.
  std::string TagOf(const Trial& trial) const;
  void OnExit(const v1::ProcessExited& exited);
  void OnExitInTrial(const Trial& trial, const v1::ProcessExited& exited);
  void OnExitInDiscovery(Discovery& discovery, const v1::ProcessExited& exited);
  // Answers a conversion that has failed.
  static void FailConversion(Discovery& discovery, const absl::Status& why);

  // Tells the owner that all models which had not ended ended so, but STOPPED_EARLY those that were stopped, and the
  // trial with them.
  void ReportEnd(const Trial& trial, v1::ModelEnded::Outcome outcome, const v1::Failure& failure = {},
                 v1::ModelEnded::LostCause lost_cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED);
  // The failure of a process that ended so. `log_file`: where its output went.
  v1::Failure Explain(const v1::ProcessExited& exited, const std::string& log_file = "") const;
  // Begins a step of what the process does: it is killed where the step lasts longer. `limit_name`: the limit's, for
  // people.
  void BeginStep(std::chrono::milliseconds limit, absl::string_view limit_name = "");
  // A step without a deadline.
  void BeginStep() { deadline_.Clear(); }
  void OnDeadline();

  WorkerSelf::pointer self_;
  // Itself, until it quits. Without it the last to hold the worker could be the channel's thread, for as long as that
  // sends a message: it would end the worker, and with it the channel, and wait for itself.
  WorkerSelf keep_alive_;
  WorkerConfig config_;
  WorkerOwnerActor owner_;

  Process process_;
  // Counts processes: messages of an earlier one are stale.
  int32_t generation_ = 0;
  // The current step's.
  Alarm deadline_;
  // The deadline moves by what the channel was held up, so far by this much. Absent: it stays as it is.
  std::optional<std::chrono::milliseconds> held_up_;
  int failed_starts_ = 0;
  std::variant<Idle, Trial, Discovery> work_;
};

// Spawn it detached: starting and ending processes blocks. Ends with its owner.
WorkerSelf::behavior_type Worker(WorkerSelf::stateful_pointer<WorkerState> self, WorkerConfig config,
                                 WorkerOwnerActor owner);

}  // namespace lanista

#endif  // LANISTA_ACTORS_WORKER_H_
