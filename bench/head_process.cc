#include "bench/head_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "bench/harness.h"
#include "src/base/status.h"

extern char** environ;

namespace lanista::bench {
namespace {

constexpr char kListening[] = "listening on ";
constexpr std::chrono::seconds kStartLimit(60);

std::string DescribeEnd(int status) {
  return WIFSIGNALED(status) ? absl::StrCat("was ended by signal ", WTERMSIG(status))
                             : absl::StrCat("ended with exit code ", WEXITSTATUS(status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HeadProcess>> HeadProcess::Start(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::InternalError(absl::StrCat("cannot make ", folder, ": ", error.message()));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "cannot make a pipe");

  std::vector<std::string> words = {Program("lanista"), "serve",       "--cpu-slots", "0",           "--listen",
                                    "127.0.0.1:0",      "--state-dir", folder,        "--log-level", "warn"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = folder + "/head.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t pid = 0;
  const int spawned = posix_spawn(&pid, words[0].c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (spawned != 0) {
    close(ends[0]);
    return ErrnoToStatus(spawned, absl::StrCat("cannot start ", words[0]));
  }
  std::unique_ptr<HeadProcess> head(new HeadProcess(folder, pid, ends[0]));
  if (const absl::Status status = head->AwaitListening(); !status.ok()) return head->Explain(status);
  return head;
}

HeadProcess::~HeadProcess() {
  if (pid_ != 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  close(stdout_);
}

absl::Status HeadProcess::AwaitListening() {
  const auto deadline = std::chrono::steady_clock::now() + kStartLimit;
  std::string text;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    pollfd request = {stdout_, POLLIN, 0};
    const int ready = left > 0 ? poll(&request, 1, static_cast<int>(left)) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) {
      return absl::DeadlineExceededError(
          absl::StrCat("the head did not say \"", kListening, "\" within ", kStartLimit.count(), " s"));
    }
    char buffer[4096];
    const ssize_t got = read(stdout_, buffer, sizeof(buffer));
    if (got <= 0) return absl::UnavailableError("the head ended before it could be reached");
    text.append(buffer, static_cast<size_t>(got));
    const size_t begin = text.find(kListening), end = text.find('\n', begin);
    if (begin == std::string::npos || end == std::string::npos) continue;
    const size_t address = begin + std::strlen(kListening);
    LANISTA_ASSIGN_OR_RETURN(address_, ParseAddress(text.substr(address, end - address)));
    return absl::OkStatus();
  }
}

absl::StatusOr<double> HeadProcess::CpuSeconds() const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/stat"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // The second field is a name in brackets, which may have spaces; the times are fields 14 and 15, in clock ticks.
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return absl::UnavailableError("the head has ended");
  const std::vector<std::string> fields = absl::StrSplit(text.substr(name_end + 2), ' ');
  constexpr size_t kUserTime = 14 - 3, kSystemTime = 15 - 3;
  if (fields.size() <= kSystemTime) return absl::InternalError("the kernel does not say what CPU time the head took");
  return (std::stod(fields[kUserTime]) + std::stod(fields[kSystemTime])) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

absl::StatusOr<int64_t> HeadProcess::ResidentBytes() const { return MemoryLine("VmRSS:"); }
absl::StatusOr<int64_t> HeadProcess::PeakResidentBytes() const { return MemoryLine("VmHWM:"); }

absl::StatusOr<int64_t> HeadProcess::MemoryLine(const std::string& name) const {
  std::ifstream file(absl::StrCat("/proc/", pid_, "/status"));
  int64_t kilobytes = 0;
  for (std::string word; file >> word;) {
    if (word == name && file >> kilobytes) return kilobytes * 1024;
  }
  return absl::UnavailableError("the head has ended");
}

absl::Status HeadProcess::Explain(const absl::Status& error) {
  int status = 0;
  if (pid_ != 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
    pid_ = 0;
    end_ = DescribeEnd(status);
  }
  return Annotate(error, absl::StrCat("the head ", pid_ == 0 ? end_ : "runs", ", its log is ", folder_, "/head.log"));
}

}  // namespace lanista::bench
