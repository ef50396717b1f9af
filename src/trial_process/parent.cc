#include "src/trial_process/parent.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/cgroup.h"
#include "src/base/child_process.h"
#include "src/base/framing.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/trial_process/event_window.h"

extern char** environ;

namespace lanista {
namespace {

// How often the kernel has killed a process of this one's group because memory ran out.
int64_t OomKills() {
  static const auto* const cgroup = new Cgroup;
  return cgroup->OomKills().value_or(0);
}

// The kills that explain the end of a child. Each explains one: children of several channels may be killed at a time,
// one by the kernel and others by somebody else. Thread-safe.
class ExplainedKills {
 public:
  // Whether there was a kill since there were `before` that explains no other child's end yet; then it is taken.
  bool Take(int64_t before) {
    const std::lock_guard<std::mutex> lock(mutex_);
    explained_ = std::max(explained_, before);
    if (OomKills() <= explained_) return false;
    ++explained_;
    return true;
  }

 private:
  std::mutex mutex_;
  int64_t explained_ = 0;
};

ExplainedKills& Explained() {
  static auto* const kills = new ExplainedKills;
  return *kills;
}

// The environment for a child on `device`.
std::vector<std::string> ChildEnvironment(const v1::Device& device) {
  std::map<std::string, std::string> values;
  // OpenBLAS and OpenMP read these when they are loaded.
  for (const char* pool : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"}) {
    values[pool] = absl::StrCat(device.threads());
  }
  // GPUs are numbered as the driver numbers them.
  values["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
  if (device.kind() == v1::DeviceKind::GPU && !device.uuid().empty()) values["CUDA_VISIBLE_DEVICES"] = device.uuid();
  // With `deterministic`, LibTorch refuses all matrix products of a process that was started without it.
  if (device.kind() == v1::DeviceKind::GPU && std::getenv("CUBLAS_WORKSPACE_CONFIG") == nullptr) {
    values["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8";
  }
  std::vector<std::string> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string name(*variable, strcspn(*variable, "="));
    if (values.count(name) == 0) environment.emplace_back(*variable);
  }
  for (const auto& [name, value] : values) environment.push_back(absl::StrCat(name, "=", value));
  return environment;
}

// Starts `program` with `socket` as its kTrialProcessSocket.
absl::StatusOr<pid_t> Spawn(const std::string& program, int socket, const v1::Device& device) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, socket, kTrialProcessSocket);
  posix_spawn_file_actions_addclosefrom_np(&actions, kTrialProcessSocket + 1);
  const absl::StatusOr<pid_t> pid = StartChildProcess({program, kTrialProcessFlag}, ChildEnvironment(device), actions);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

class TrialProcess final : public TrialChannel {
 public:
  TrialProcess(std::string program, const TrialProcessOptions& options)
      : program_(std::move(program)), shared_data_(options.shared_data), window_(options.most_unrecorded) {}

  ~TrialProcess() override {
    Kill();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start(const v1::Device& device, Handlers handlers) override {
    handlers_ = std::move(handlers);
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return ErrnoToStatus(errno, "socketpair");
    socket_ = UniqueFd(sockets[0]);
    // Above the descriptor that it becomes in the child, so that dup2 is never a no-op that keeps close-on-exec.
    const UniqueFd low(sockets[1]);
    const UniqueFd child_socket(fcntl(low.get(), F_DUPFD_CLOEXEC, kTrialProcessSocket + 1));
    wake_ = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (child_socket.get() < 0 || wake_.get() < 0)
      return ErrnoToStatus(errno, "cannot make descriptors for a trial process");
    fcntl(socket_.get(), F_SETFL, O_NONBLOCK);

    oom_kills_before_ = OomKills();
    LANISTA_ASSIGN_OR_RETURN(pid_, Spawn(program_, child_socket.get(), device));
    // By number: glibc 2.36 declares pidfd_open without C linkage.
    pid_fd_ = UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
    Limit(device);
    thread_ = std::thread([this] { Serve(); });

    v1::TrialRequest setup;
    *setup.mutable_setup()->mutable_device() = device;
    setup.mutable_setup()->set_shared_data(shared_data_);
    return Send(setup);
  }

  absl::Status Send(const v1::TrialRequest& request) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    // What happened before concerned other trials.
    if (request.has_run() || request.has_discover()) oom_kills_before_ = OomKills();
    if (request.has_run()) window_.Begin(request.run());
    LANISTA_RETURN_IF_ERROR(AppendFrame(request, &outgoing_));
    Flush();
    if (pending()) Wake();
    return absl::OkStatus();
  }

  void Recorded(const v1::EventsRecorded& recorded) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool was_full = window_.full();
    window_.Recorded(recorded, EventWindow::Clock::now());
    if (was_full && !window_.full()) Wake();
  }

  std::chrono::milliseconds held_up() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::chrono::duration_cast<std::chrono::milliseconds>(window_.FullFor(EventWindow::Clock::now()));
  }

  void Kill() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    killed_ = true;
    // Not after the child was waited for: its number may be another's by then.
    if (pid_ > 0) kill(-pid_, SIGKILL);
  }

 private:
  // Bounds the child's memory and offers it to the kernel before this process, and what trains nothing before all
  // others. Best effort: a container may forbid either.
  void Limit(const v1::Device& device) const {
    const rlimit no_core = {0, 0};
    prlimit(pid_, RLIMIT_CORE, &no_core, nullptr);
    if (kLimitsMemory && device.memory_limit() > 0) {
      const auto limit = static_cast<rlim_t>(device.memory_limit());
      const rlimit data = {limit, limit};
      prlimit(pid_, RLIMIT_DATA, &data, nullptr);
    }
    constexpr int kFirst = 1000;
    // A container may have raised it, and nobody may lower it.
    int own = 0;
    std::ifstream("/proc/self/oom_score_adj") >> own;
    std::ofstream(absl::StrCat("/proc/", pid_, "/oom_score_adj")) << (device.prepares() ? kFirst : (own + kFirst) / 2);
  }

  void Wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof(one));
  }

  // Writes what the socket takes. REQUIRES: mutex_ is held.
  void Flush() {
    while (pending()) {
      const ssize_t sent = send(socket_.get(), outgoing_.data() + sent_, outgoing_.size() - sent_, MSG_NOSIGNAL);
      if (sent > 0) {
        sent_ += static_cast<size_t>(sent);
      } else if (errno == EAGAIN) {
        break;
      } else if (errno != EINTR) {
        sent_ = outgoing_.size();
      }
    }
    // Not after each write: what moves to the front is at most what was written, so that large requests stay linear.
    if (sent_ * 2 < outgoing_.size()) return;
    outgoing_.erase(0, sent_);
    sent_ = 0;
  }

  // Whether there is something to write. REQUIRES: mutex_ is held.
  bool pending() const { return sent_ < outgoing_.size(); }

  // The channel's thread: moves bytes until the child is gone, then reports how it ended.
  void Serve() {
    std::string problem;
    bool child_ended = false;
    bool open = true;
    while (open) {
      int16_t events = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        Flush();
        if (pending()) events |= POLLOUT;
        // Once nobody writes any more, what is left is as little as the socket holds. (POLLHUP comes unasked.)
        if (child_ended || !window_.full()) events |= POLLIN;
      }
      pollfd fds[] = {{socket_.get(), events, 0}, {wake_.get(), POLLIN, 0}, {pid_fd_.get(), POLLIN, 0}};
      // Once the child ended, what it wrote is read; descendants may hold the socket open for ever.
      const int ready = poll(fds, child_ended ? 1 : 3, child_ended ? 0 : -1);
      if (ready < 0 && errno == EINTR) continue;
      if (child_ended && (ready <= 0 || (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) == 0)) break;
      if (!child_ended && fds[2].revents != 0) child_ended = true;
      if (!child_ended && fds[1].revents != 0) {
        uint64_t count;
        [[maybe_unused]] const ssize_t got = read(wake_.get(), &count, sizeof(count));
      }
      if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) {
        if (const absl::Status status = Receive(&open); !status.ok()) {
          problem = std::string(status.message());
          break;
        }
      }
    }
    handlers_.on_exit(Reap(std::move(problem)));
  }

  // Reads once and hands out the events. `open` becomes false at the stream's end.
  absl::Status Receive(bool* open) {
    char buffer[1 << 16];
    const ssize_t got = recv(socket_.get(), buffer, sizeof(buffer), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return absl::OkStatus();
    if (got <= 0) {
      *open = false;
      return absl::OkStatus();
    }
    decoder_.Append(absl::string_view(buffer, static_cast<size_t>(got)));
    while (true) {
      LANISTA_ASSIGN_OR_RETURN(const std::optional<std::string> frame, decoder_.Next());
      if (!frame.has_value()) return absl::OkStatus();
      v1::TrialEvent event;
      if (!event.ParseFromString(*frame)) return absl::DataLossError("the trial process sent what is no event");
      if (event.has_model()) {
        const std::lock_guard<std::mutex> lock(mutex_);
        window_.Read(event.model(), EventWindow::Clock::now());
      }
      handlers_.on_event(std::move(event));
    }
  }

  // Waits for the child (whose death closed the socket, or which closed it and gets a moment to end) and says how it
  // ended.
  v1::ProcessExited Reap(std::string problem) {
    constexpr int kGraceMilliseconds = 2000;
    pollfd fd = {pid_fd_.get(), POLLIN, 0};
    if (poll(&fd, 1, problem.empty() ? kGraceMilliseconds : 0) <= 0) {
      if (problem.empty()) problem = "it closed its connection to the head";
      Kill();
    }
    v1::ProcessExited exited;
    exited.set_message(std::move(problem));
    // Leave it a zombie until its group was ended, so that its number stays its own.
    siginfo_t info{};
    while (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    kill(-pid_, SIGKILL);
    int status = 0;
    while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    if (WIFSIGNALED(status)) exited.set_signal(WTERMSIG(status));
    if (WIFEXITED(status)) exited.set_exit_status(WEXITSTATUS(status));
    exited.set_out_of_memory(exited.signal() == SIGKILL && !killed_ && Explained().Take(oom_kills_before_));
    return exited;
  }

  const std::string program_;
  const std::string shared_data_;
  // Constant after Start.
  Handlers handlers_;
  UniqueFd socket_;
  UniqueFd wake_;
  UniqueFd pid_fd_;
  std::thread thread_;
  // The thread's own.
  FrameDecoder decoder_;

  mutable std::mutex mutex_;
  // Protected by mutex_. Of the trial that was sent last.
  EventWindow window_;
  // 0 before the start and once the child was waited for.
  pid_t pid_ = 0;
  bool killed_ = false;
  // OomKills() when its work began.
  int64_t oom_kills_before_ = 0;
  std::string outgoing_;
  // So many bytes of it were written.
  size_t sent_ = 0;
};

}  // namespace

std::unique_ptr<TrialChannel> MakeTrialProcess(std::string program, const TrialProcessOptions& options) {
  return std::make_unique<TrialProcess>(std::move(program), options);
}

}  // namespace lanista
