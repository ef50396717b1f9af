// What a trial process does with requests.
#ifndef LANISTA_SRC_TRIAL_PROCESS_REQUEST_HANDLER_H_
#define LANISTA_SRC_TRIAL_PROCESS_REQUEST_HANDLER_H_

#include <functional>
#include <memory>

#include "protos/messages.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

// Executes requests. Handle is always called by the same thread; Cancel and Stop may be called by any.
class RequestHandler {
 public:
  // Sends one event; may be called while Handle runs.
  using Emit = std::function<void(const v1::TrialEvent&)>;

  virtual ~RequestHandler() = default;

  // Executes any request but Cancel, StopModel and Shutdown, and emits its events; nothing escapes.
  virtual void Handle(const v1::TrialRequest& request) = 0;

  // Cancels the trial, whether it runs now or comes later.
  virtual void Cancel(const v1::CancelTrial& cancel) = 0;

  // Stops one model of a trial that runs now or comes next.
  virtual void Stop(const v1::StopModel& stop) = 0;
};

// Makes a handler that emits its events so.
using MakeRequestHandler = std::function<std::unique_ptr<RequestHandler>(RequestHandler::Emit emit)>;

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_REQUEST_HANDLER_H_
