#include "src/base/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/spawn_command.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/base/utf8.h"

namespace lanista {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostOutput = 1 << 20;
// How often Command.ending is asked.
constexpr std::chrono::milliseconds kAskInterval(100);

// When a command is killed.
class Deadline {
 public:
  explicit Deadline(const Command& command) : command_(command), at_(Clock::now() + command.limit) {}

  // So long may be waited before it is asked again; zero: it is over.
  std::chrono::milliseconds Left() {
    const Clock::time_point now = Clock::now();
    if (!ending_ && command_.ending && command_.ending()) {
      ending_ = true;
      at_ = std::min(at_, now + command_.grace);
    }
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(at_ - now);
    const auto most = command_.ending && !ending_ ? kAskInterval : std::chrono::milliseconds(60000);
    return std::clamp(left, std::chrono::milliseconds(0), most);
  }
  Clock::time_point at() const { return at_; }

  absl::Status Error() const {
    const std::string& program = command_.arguments.front();
    if (ending_) return absl::CancelledError(absl::StrCat(program, " was killed: nobody waits for it any longer"));
    return absl::DeadlineExceededError(
        absl::StrCat(program, " did not end within ",
                     std::chrono::duration_cast<std::chrono::seconds>(command_.limit).count(), " s and was killed"));
  }

 private:
  const Command& command_;
  Clock::time_point at_;
  bool ending_ = false;
};

// Reads what is there. False: nothing more will come.
bool ReadSome(int fd, std::string& text, bool& cut) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  const size_t room = kMostOutput - text.size();
  cut = cut || static_cast<size_t>(count) > room;
  text.append(buffer.data(), std::min(static_cast<size_t>(count), room));
  return count > 0;
}

// Writes what fits. False: nothing is left, or nobody reads it.
bool WriteSome(int fd, absl::string_view& input) {
  const ssize_t count = write(fd, input.data(), input.size());
  if (count < 0) return errno == EINTR || errno == EAGAIN;
  input.remove_prefix(static_cast<size_t>(count));
  return !input.empty();
}

// Until both outputs have ended; false: the time is over before.
bool Exchange(UniqueFd input, int output, int error, absl::string_view text, Deadline& deadline,
              CommandAnswer& result) {
  fcntl(input.get(), F_SETFL, O_NONBLOCK);
  // -1: it has ended.
  std::array<pollfd, 3> ends = {{{input.get(), POLLOUT, 0}, {output, POLLIN, 0}, {error, POLLIN, 0}}};
  const auto end_input = [&] {
    ends[0].fd = -1;
    input = UniqueFd();
  };
  if (text.empty()) end_input();
  while (ends[1].fd >= 0 || ends[2].fd >= 0) {
    const auto left = deadline.Left().count();
    if (left == 0) return false;
    if (poll(ends.data(), ends.size(), static_cast<int>(left)) < 0) continue;
    if (ends[0].fd >= 0 && ends[0].revents != 0 && !WriteSome(ends[0].fd, text)) end_input();
    if (ends[1].fd >= 0 && ends[1].revents != 0 && !ReadSome(output, result.output, result.cut)) ends[1].fd = -1;
    if (ends[2].fd >= 0 && ends[2].revents != 0 && !ReadSome(error, result.error, result.cut)) ends[2].fd = -1;
  }
  return true;
}

}  // namespace

absl::StatusOr<CommandAnswer> RunCommand(const Command& command) {
  LANISTA_ASSIGN_OR_RETURN(Pipe input, MakePipe());
  LANISTA_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  LANISTA_ASSIGN_OR_RETURN(Pipe error, MakePipe());
  LANISTA_ASSIGN_OR_RETURN(const pid_t pid,
                           SpawnCommand(command.arguments, input.read.get(), output.write.get(), error.write.get()));
  input.read = UniqueFd();
  output.write = UniqueFd();
  error.write = UniqueFd();

  Deadline deadline(command);
  CommandAnswer result;
  int status = 0;
  if (!Exchange(std::move(input.write), output.read.get(), error.read.get(), command.input, deadline, result) ||
      !AwaitEnd(pid, deadline.at(), &status)) {
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    return deadline.Error();
  }
  result.exit_code = ExitCodeOf(status);
  return result;
}

std::string WhatItSaid(const Command& command, const CommandAnswer& result) {
  const std::string& program = command.arguments.front();
  const std::string said = ReasonLine(ToUtf8(result.error.empty() ? result.output : result.error));
  if (said.empty()) return absl::StrCat(program, " ended with exit code ", result.exit_code, " and said nothing");
  return absl::StartsWith(said, program) ? said : absl::StrCat(program, ": ", said);
}

}  // namespace lanista
