// The connection to the executor of trials: a child process, or a thread of this process.
#ifndef LANISTA_SRC_TRIAL_PROCESS_CHANNEL_H_
#define LANISTA_SRC_TRIAL_PROCESS_CHANNEL_H_

#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "protos/messages.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

// Sends requests and delivers events. Start is called once, before all other calls; the others may come from any
// thread. The destructor ends the other side and returns when no handler runs any more.
//
// Limits how many events of a trial may be on their way to the journal (event_window.h): at the limit, the trial waits
// until some of them are reported as recorded.
class TrialChannel {
 public:
  // Called one at a time on a thread of the channel's; must not block or destroy the channel.
  struct Handlers {
    std::function<void(v1::TrialEvent)> on_event;
    // Called once, after the last event: the other side has ended.
    std::function<void(v1::ProcessExited)> on_exit;
  };

  virtual ~TrialChannel() = default;

  // Starts the other side for `device`: it answers with a Ready event. An error (no such program) calls no handler.
  virtual absl::Status Start(const v1::Device& device, Handlers handlers) = 0;

  // Sends a request; never blocks. If the other side has ended, the request is lost, and on_exit is called.
  // RESOURCE_EXHAUSTED if the request is larger than the channel takes: it is then not sent.
  virtual absl::Status Send(const v1::TrialRequest& request) = 0;

  // Reports that events of the trial that was sent last are recorded; never blocks. Events of other trials are ignored.
  virtual void Recorded(const v1::EventsRecorded& recorded) = 0;

  // The total time for which no events of the trial that was sent last were delivered, because too many were
  // unrecorded.
  virtual std::chrono::milliseconds held_up() const = 0;

  // Ends the other side at once, even during a trial.
  virtual void Kill() = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_CHANNEL_H_
