// The way to whatever executes trials: a child process, or a thread of this one.
#ifndef LANISTA_SRC_BASE_TRIAL_CHANNEL_H_
#define LANISTA_SRC_BASE_TRIAL_CHANNEL_H_

#include <chrono>
#include <functional>

#include "absl/status/status.h"
#include "protos/messages.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

// Sends requests, brings events. Start is called once, first; all else by any thread after it. The destructor ends the
// other side and returns when no handler runs any more.
//
// Brings no more events of a trial than may be on their way to the journal (event_window.h): the trial then waits until
// it is told that some of them are recorded.
class TrialChannel {
 public:
  // Called one at a time on a thread of the channel's; must not block or destroy the channel.
  struct Handlers {
    std::function<void(v1::TrialEvent)> on_event;
    // The other side is gone: once, after the last event.
    std::function<void(v1::ProcessExited)> on_exit;
  };

  virtual ~TrialChannel() = default;

  // Starts the other side for `device`: it answers with a Ready event. An error (no such program) calls no handler.
  virtual absl::Status Start(const v1::Device& device, Handlers handlers) = 0;

  // Hands over a request; never blocks. Lost if the other side is gone: on_exit tells. RESOURCE_EXHAUSTED if it is
  // larger than the channel takes: then the other side does not hear of it.
  virtual absl::Status Send(const v1::TrialRequest& request) = 0;

  // Events of the trial that was sent last are recorded; never blocks. Of others: no matter.
  virtual void Recorded(const v1::EventsRecorded& recorded) = 0;

  // How long no events of the trial that was sent last were brought, because too many were not recorded: all in all.
  virtual std::chrono::milliseconds held_up() const = 0;

  // Ends the other side at once, whatever it does.
  virtual void Kill() = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_TRIAL_CHANNEL_H_
