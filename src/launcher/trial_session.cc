#include "src/launcher/trial_session.h"

#include <signal.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/devices/local.h"
#include "src/files/data_channel.h"
#include "src/trial_process/parent.h"

namespace lanista {
namespace {

// How often a waiting call checks whether its result is still needed.
constexpr std::chrono::milliseconds kAbandonedInterval{100};

absl::Status ExitStatus(const v1::ProcessExited& exited) {
  if (exited.out_of_memory()) return absl::InternalError("the process that did it ran out of memory");
  if (exited.signal() != 0) {
    return absl::InternalError(absl::StrCat("the process that did it was ended by signal ", exited.signal(), " (",
                                            strsignal(exited.signal()), ")"));
  }
  return absl::InternalError(absl::StrCat("the process that did it ended with exit status ", exited.exit_status(),
                                          exited.message().empty() ? "" : ": ", exited.message()));
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrialSession>> TrialSession::Start(const TrialProgram& program, const Limits& limits,
                                                                  const Abandoned& abandoned) {
  std::error_code error;
  if (!std::filesystem::exists(program.path, error)) {
    return absl::NotFoundError(absl::StrCat("no trial program at ", program.path, "; name it with --trial-program"));
  }
  std::unique_ptr<TrialSession> session(new TrialSession);
  TrialSession* const self = session.get();
  TrialChannel::Handlers handlers;
  handlers.on_event = [self](v1::TrialEvent event) {
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->event_ = std::move(event);
    self->changed_.notify_one();
  };
  handlers.on_exit = [self](v1::ProcessExited exited) {
    const std::lock_guard<std::mutex> lock(self->mutex_);
    self->exited_ = std::move(exited);
    self->changed_.notify_one();
  };
  v1::Device device;
  device.set_kind(v1::DeviceKind::CPU);
  device.set_threads(AvailableProcessors());
  device.set_memory_limit(AvailableMemory());
  session->request_limit_ = limits.request;
  session->channel_ = WithData(MakeTrialProcess(program.path), program.data);
  LANISTA_RETURN_IF_ERROR(session->channel_->Start(device, std::move(handlers)));
  const absl::StatusOr<v1::TrialEvent> ready = session->Next(limits.ready, abandoned);
  if (absl::IsCancelled(ready.status())) return ready.status();
  if (absl::IsDeadlineExceeded(ready.status())) return Annotate(ready.status(), program.path);
  // Somebody has killed the process, which says nothing about the program.
  if (!ready.ok() && session->WasKilled()) {
    return absl::AbortedError(absl::StrCat(program.path, " was killed (signal ", SIGKILL, ") before it said a word"));
  }
  if (!ready.ok() || !ready->has_ready()) {
    return absl::UnavailableError(absl::StrCat(program.path, " ended without a word; is it a trial program?"));
  }
  session->libtorch_version_ = ready->ready().libtorch_version();
  return session;
}

absl::StatusOr<v1::ModelGraph> TrialSession::Import(const v1::TorchScriptConfig& torchscript) {
  v1::TrialRequest request;
  *request.mutable_import()->mutable_torchscript() = torchscript;
  LANISTA_ASSIGN_OR_RETURN(v1::TrialEvent event, Request(request));
  LANISTA_RETURN_IF_ERROR(StatusFromProto(event.imported().error()));
  return std::move(*event.mutable_imported()->mutable_graph());
}

absl::StatusOr<v1::Converted> TrialSession::Convert(const v1::Convert& convert, const Abandoned& abandoned) {
  v1::TrialRequest request;
  *request.mutable_convert() = convert;
  LANISTA_ASSIGN_OR_RETURN(v1::TrialEvent event, Request(request, abandoned));
  LANISTA_RETURN_IF_ERROR(StatusFromProto(event.converted().error()));
  return std::move(*event.mutable_converted());
}

absl::StatusOr<v1::TrialEvent> TrialSession::Request(const v1::TrialRequest& request, const Abandoned& abandoned) {
  // The trial process could not read it.
  if (const std::optional<NonUtf8Field> found = FindNonUtf8(request)) {
    return absl::InvalidArgumentError(absl::StrCat("'", found->text, "' is not UTF-8; rename it"));
  }
  const absl::Status sent = channel_->Send(request);
  if (sent.ok()) return Next(request_limit_, abandoned);
  return absl::ResourceExhaustedError(absl::StrCat("the graph is too large for a trial process: ", sent.message(),
                                                   "; large constants belong into the buffers of a TorchScript file"));
}

bool TrialSession::WasKilled() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return exited_.has_value() && exited_->signal() == SIGKILL && !exited_->out_of_memory();
}

absl::StatusOr<v1::TrialEvent> TrialSession::Next(std::chrono::milliseconds limit, const Abandoned& abandoned) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + limit;
  std::unique_lock<std::mutex> lock(mutex_);
  const auto answered = [this] { return event_.has_value() || exited_.has_value(); };
  while (!changed_.wait_until(lock, abandoned ? std::min(end, Clock::now() + kAbandonedInterval) : end, answered)) {
    if (Clock::now() >= end) {
      return absl::DeadlineExceededError(
          absl::StrCat("there was no answer after ", absl::FormatDuration(absl::FromChrono(limit))));
    }
    if (abandoned && abandoned()) return absl::CancelledError("nobody waits for the answer any more");
  }
  if (!event_.has_value()) return ExitStatus(*exited_);
  v1::TrialEvent event = *std::move(event_);
  event_.reset();
  return event;
}

}  // namespace lanista
