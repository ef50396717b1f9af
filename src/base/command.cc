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
bool Exchange(UniqueFd input, int output, int error, absl::string_view text, Clock::time_point deadline,
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
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (poll(ends.data(), ends.size(), static_cast<int>(std::min<int64_t>(left, 60000))) < 0) continue;
    if (ends[0].fd >= 0 && ends[0].revents != 0 && !WriteSome(ends[0].fd, text)) end_input();
    if (ends[1].fd >= 0 && ends[1].revents != 0 && !ReadSome(output, result.output, result.cut)) ends[1].fd = -1;
    if (ends[2].fd >= 0 && ends[2].revents != 0 && !ReadSome(error, result.error, result.cut)) ends[2].fd = -1;
  }
  return true;
}

// Waits for the process. False: the time is over before.
bool Await(pid_t pid, Clock::time_point deadline, int* status) {
  // A process that has closed its outputs is about to end: it is looked at often, and not for long.
  constexpr timespec kLook = {0, 2000000};
  while (waitpid(pid, status, WNOHANG) == 0) {
    if (Clock::now() >= deadline) return false;
    nanosleep(&kLook, nullptr);
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

  const Clock::time_point deadline = Clock::now() + command.limit;
  CommandAnswer result;
  int status = 0;
  if (!Exchange(std::move(input.write), output.read.get(), error.read.get(), command.input, deadline, result) ||
      !Await(pid, deadline, &status)) {
    kill(-pid, SIGKILL);
    waitpid(pid, &status, 0);
    return absl::DeadlineExceededError(
        absl::StrCat(command.arguments.front(), " did not end within ",
                     std::chrono::duration_cast<std::chrono::seconds>(command.limit).count(), " s and was killed"));
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
