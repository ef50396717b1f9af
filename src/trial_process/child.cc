#include "src/trial_process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/framing.h"
#include "src/trial_process/event_frame.h"
#include "src/trial_process/parent.h"
#include "src/trial_process/request_queue.h"

namespace lanista {
namespace {

// Reads requests until the head closes the connection. The process then ends at once, even during a trial, so that no
// trial process outlives its head.
void ReadRequests(RequestHandler& handler, RequestQueue& queue) {
  FrameDecoder decoder;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = recv(kTrialProcessSocket, buffer, sizeof(buffer), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) _exit(EXIT_SUCCESS);
    decoder.Append(absl::string_view(buffer, static_cast<size_t>(got)));
    while (true) {
      const absl::StatusOr<std::optional<std::string>> frame = decoder.Next();
      if (!frame.ok()) _exit(EXIT_FAILURE);
      if (!frame->has_value()) break;
      v1::TrialRequest request;
      if (!request.ParseFromString(**frame)) _exit(EXIT_FAILURE);
      if (request.has_cancel()) {
        handler.Cancel(request.cancel());
      } else if (request.has_stop()) {
        handler.Stop(request.stop());
      } else {
        queue.Push(std::move(request));
      }
    }
  }
}

void WriteEvent(const v1::TrialEvent& event) {
  const std::string frame = EventFrame(event);
  size_t written = 0;
  while (written < frame.size()) {
    const ssize_t sent = send(kTrialProcessSocket, frame.data() + written, frame.size() - written, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) _exit(EXIT_SUCCESS);
    written += static_cast<size_t>(sent);
  }
}

// Writes the reason of the most frequent crash of C++ models into the last output of the process.
void OnSegmentationFault(int signal, siginfo_t* info, void*) {
  constexpr uintptr_t kLargestModule = 1 << 16;
  if (info->si_code > 0 && reinterpret_cast<uintptr_t>(info->si_addr) < kLargestModule) {
    constexpr char kHint[] =
        "a null pointer was used: has the constructor filled every module holder (torch::nn::Linear "
        "hidden_{nullptr})?\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kHint, sizeof(kHint) - 1);
  }
  // The default action follows when this returns.
  raise(signal);
}

void ExplainNullPointers() {
#if !defined(__SANITIZE_ADDRESS__)
  struct sigaction action = {};
  action.sa_sigaction = OnSegmentationFault;
  action.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGSEGV, &action, nullptr);
#endif
}

// Batch systems and service managers may send the signals that ask a node to end to all processes below it. The node
// then decides what becomes of its trials: the worker ends this process by its socket or by SIGKILL. The handler does
// nothing; ignored signals would stay ignored in programs that user code starts.
void LeaveEndingToTheWorker() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaction(signal, &action, nullptr);
}

}  // namespace

int ServeTrialProcess(const MakeRequestHandler& make_handler) {
  ExplainNullPointers();
  LeaveEndingToTheWorker();
  // Programs that user code starts must not inherit the socket, and must not write to the head's stdout.
  fcntl(kTrialProcessSocket, F_SETFD, FD_CLOEXEC);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const std::unique_ptr<RequestHandler> handler = make_handler(WriteEvent);
  RequestQueue queue;
  std::thread([&] { ReadRequests(*handler, queue); }).detach();
  HandleUntilShutdown(*handler, queue);
  // Static destructors of a user's program could run into the reader thread.
  _exit(EXIT_SUCCESS);
}

}  // namespace lanista
