#include "src/trial/trial_main.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "src/base/event_window.h"
#include "src/base/framing.h"
#include "src/base/trial_process.h"
#include "src/base/utf8.h"
#include "src/trial/event_frame.h"
#include "src/trial/runner.h"

namespace lanista {
namespace {

// Requests on their way to the thread that executes them.
class RequestQueue {
 public:
  void Push(v1::TrialRequest request) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.push_back(std::move(request));
    }
    changed_.notify_one();
  }

  // Waits for the next request.
  v1::TrialRequest Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !requests_.empty(); });
    v1::TrialRequest request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::TrialRequest> requests_;
};

// Executes the queue's requests until Shutdown.
void Serve(TrialRunner& runner, RequestQueue& queue) {
  while (true) {
    const v1::TrialRequest request = queue.Pop();
    if (request.has_shutdown()) return;
    runner.Handle(request);
  }
}

// Reads requests until the head closes the connection. The process then ends at once, even during a trial, so that no
// trial process outlives its head.
void ReadRequests(TrialRunner& runner, RequestQueue& queue) {
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
        runner.Cancel(request.cancel());
      } else if (request.has_stop()) {
        runner.Stop(request.stop());
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

class InProcessTrial final : public TrialChannel {
 public:
  ~InProcessTrial() override {
    Kill();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start(const v1::Device& device, Handlers handlers) override {
    handlers_ = std::move(handlers);
    const auto emit = [this](v1::TrialEvent event) {
      MakeUtf8(&event);
      std::unique_lock<std::mutex> lock(mutex_);
      window_changed_.wait(lock, [this] { return killed_ || !window_.full(); });
      if (event.has_model()) window_.Read(event.model(), EventWindow::Clock::now());
      lock.unlock();
      handlers_.on_event(std::move(event));
    };
    runner_.emplace(emit, /*redirect_output=*/false);
    v1::TrialRequest setup;
    *setup.mutable_setup()->mutable_device() = device;
    queue_.Push(setup);
    thread_ = std::thread([this] {
      Serve(*runner_, queue_);
      handlers_.on_exit({});
    });
    return absl::OkStatus();
  }

  absl::Status Send(const v1::TrialRequest& request) override {
    if (request.has_run()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      last_trial_.set_experiment(request.run().experiment());
      last_trial_.set_trial(request.run().trial());
      window_.Begin(request.run());
    }
    if (request.has_cancel()) {
      runner_->Cancel(request.cancel());
    } else if (request.has_stop()) {
      runner_->Stop(request.stop());
    } else {
      queue_.Push(request);
    }
    return absl::OkStatus();
  }

  void Recorded(const v1::EventsRecorded& recorded) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      window_.Recorded(recorded, EventWindow::Clock::now());
    }
    window_changed_.notify_one();
  }

  std::chrono::milliseconds held_up() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::chrono::duration_cast<std::chrono::milliseconds>(window_.FullFor(EventWindow::Clock::now()));
  }

  void Kill() override {
    if (!runner_.has_value()) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      runner_->Cancel(last_trial_);
      killed_ = true;
    }
    window_changed_.notify_one();
    v1::TrialRequest shutdown;
    shutdown.mutable_shutdown();
    queue_.Push(shutdown);
  }

 private:
  Handlers handlers_;
  std::optional<TrialRunner> runner_;
  RequestQueue queue_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable window_changed_;
  // Protected by mutex_.
  v1::CancelTrial last_trial_;
  EventWindow window_;
  bool killed_ = false;
};

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

int TrialMain() {
  ExplainNullPointers();
  LeaveEndingToTheWorker();
  // Programs that user code starts must not inherit the socket, and must not write to the head's stdout.
  fcntl(kTrialProcessSocket, F_SETFD, FD_CLOEXEC);
  dup2(STDERR_FILENO, STDOUT_FILENO);
  TrialRunner runner(WriteEvent, /*redirect_output=*/true);
  RequestQueue queue;
  std::thread([&] { ReadRequests(runner, queue); }).detach();
  Serve(runner, queue);
  // Static destructors of a user's program could run into the reader thread.
  _exit(EXIT_SUCCESS);
}

std::unique_ptr<TrialChannel> MakeInProcessTrial() { return std::make_unique<InProcessTrial>(); }

}  // namespace lanista
