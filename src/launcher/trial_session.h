// A trial process for a command that needs LibTorch once: reading a TorchScript file, writing a model.
#ifndef LANISTA_SRC_LAUNCHER_TRIAL_SESSION_H_
#define LANISTA_SRC_LAUNCHER_TRIAL_SESSION_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "protos/trial.pb.h"
#include "src/launcher/trial_program.h"
#include "src/trial_process/channel.h"

namespace lanista {

// Owns the process; the destructor ends it. Used by one thread. A request that crashes the process is an error status.
class TrialSession {
 public:
  // Called now and then while a call waits. If it returns true, the result is not needed any more: the call then
  // returns CANCELLED, and the session can only be destroyed.
  using Abandoned = std::function<bool()>;

  // How long it may take until the program is ready, and until a request is answered. A program that takes longer
  // hangs: the session can only be destroyed then.
  struct Limits {
    std::chrono::milliseconds ready = std::chrono::minutes(2);
    std::chrono::milliseconds request = std::chrono::minutes(30);
  };

  // Starts the program and waits until it is ready. NOT_FOUND: there is none; UNAVAILABLE: it is no trial program;
  // ABORTED: somebody killed it; DEADLINE_EXCEEDED, here and below: it hangs.
  static absl::StatusOr<std::unique_ptr<TrialSession>> Start(const TrialProgram& program, const Limits& limits,
                                                             const Abandoned& abandoned = nullptr);
  static absl::StatusOr<std::unique_ptr<TrialSession>> Start(const TrialProgram& program) {
    return Start(program, Limits());
  }

  const std::string& libtorch_version() const { return libtorch_version_; }

  // Reads a TorchScript file. INTERNAL, here and below, says how the process ended, if it did.
  absl::StatusOr<v1::ModelGraph> Import(const v1::TorchScriptConfig& torchscript);

  // Writes a model. The answer has no error.
  absl::StatusOr<v1::Converted> Convert(const v1::Convert& request, const Abandoned& abandoned = nullptr);

 private:
  TrialSession() = default;

  // Sends a request that is answered by one event, and waits for it. RESOURCE_EXHAUSTED: it is too large.
  absl::StatusOr<v1::TrialEvent> Request(const v1::TrialRequest& request, const Abandoned& abandoned = nullptr);
  // The next event.
  absl::StatusOr<v1::TrialEvent> Next(std::chrono::milliseconds limit, const Abandoned& abandoned);
  // It has ended, because somebody sent SIGKILL.
  bool WasKilled();

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  std::optional<v1::TrialEvent> event_;
  std::optional<v1::ProcessExited> exited_;

  std::string libtorch_version_;
  std::chrono::milliseconds request_limit_{0};
  // Last: its handlers use the rest.
  std::unique_ptr<TrialChannel> channel_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_TRIAL_SESSION_H_
