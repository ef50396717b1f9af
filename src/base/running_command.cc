#include "src/base/running_command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "src/base/spawn_command.h"
#include "src/base/status.h"

namespace lanista {
namespace {

constexpr size_t kMaxLine = 64 << 10;
// A process that has closed its outputs is about to end.
constexpr std::chrono::seconds kMaxDying(5);

bool IsReady(const pollfd& end) { return end.fd >= 0 && end.revents != 0; }

}  // namespace

absl::StatusOr<std::unique_ptr<RunningCommand>> RunningCommand::Start(std::vector<std::string> arguments,
                                                                      const std::string& input_file) {
  Pipe input;
  if (input_file.empty()) {
    LANISTA_ASSIGN_OR_RETURN(input, MakePipe());
    fcntl(input.write.get(), F_SETFL, O_NONBLOCK);
  } else {
    input.read = UniqueFd(open(input_file.c_str(), O_RDONLY | O_CLOEXEC));
    if (input.read.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", input_file));
  }
  LANISTA_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
  LANISTA_ASSIGN_OR_RETURN(
      const pid_t pid, SpawnCommand(std::move(arguments), input.read.get(), output.write.get(), output.write.get()));
  return std::unique_ptr<RunningCommand>(new RunningCommand(pid, std::move(input.write), std::move(output.read)));
}

RunningCommand::~RunningCommand() {
  if (pid_ == 0) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

absl::Status RunningCommand::Write(absl::string_view text, int stop_fd) {
  while (!text.empty()) {
    std::array<pollfd, 2> ends = {{{stop_fd, POLLIN, 0}, {input_.get(), POLLOUT, 0}}};
    if (poll(ends.data(), ends.size(), -1) < 0) continue;
    if (IsReady(ends[0])) return absl::CancelledError("stopped");
    const ssize_t count = write(input_.get(), text.data(), text.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return absl::UnavailableError("it reads nothing any more");
    if (count > 0) text.remove_prefix(static_cast<size_t>(count));
  }
  return absl::OkStatus();
}

RunningCommand::Event RunningCommand::Next(int stop_fd, Clock::time_point deadline) {
  while (!TakeLine()) {
    if (output_.get() < 0) {
      Reap();
      return Event::kEnded;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return Event::kDeadline;
    std::array<pollfd, 2> ends = {{{stop_fd, POLLIN, 0}, {output_.get(), POLLIN, 0}}};
    if (poll(ends.data(), ends.size(), static_cast<int>(std::min<int64_t>(left, 60000))) < 0) continue;
    if (IsReady(ends[0])) return Event::kStopped;
    if (IsReady(ends[1])) Read();
  }
  return Event::kLine;
}

bool RunningCommand::TakeLine() {
  const size_t end = read_.find('\n');
  if (end == std::string::npos && (output_.get() >= 0 || read_.empty())) return false;
  line_ = read_.substr(0, std::min(end, kMaxLine));
  read_.erase(0, end == std::string::npos ? end : end + 1);
  return true;
}

void RunningCommand::Read() {
  std::array<char, 4096> buffer;
  const ssize_t count = read(output_.get(), buffer.data(), buffer.size());
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count <= 0) {
    output_ = UniqueFd();
    return;
  }
  read_.append(buffer.data(), static_cast<size_t>(count));
  // What comes of a line that is too long is dropped up to its end.
  if (read_.size() > kMaxLine + buffer.size() && read_.find('\n') == std::string::npos) read_.resize(kMaxLine);
}

void RunningCommand::Reap() {
  if (pid_ == 0) return;
  int status = 0;
  if (!AwaitEnd(pid_, Clock::now() + kMaxDying, &status)) {
    kill(-pid_, SIGKILL);
    waitpid(pid_, &status, 0);
  }
  pid_ = 0;
  exit_code_ = ExitCodeOf(status);
}

}  // namespace lanista
