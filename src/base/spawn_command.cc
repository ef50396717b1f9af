#include "src/base/spawn_command.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "src/base/child_process.h"
#include "src/base/status.h"

extern char** environ;

namespace lanista {
namespace {

// Whether a variable makes a process part of a Slurm job, changes what squeue and scancel see by default, or lets
// sbatch submit what these do not see.
bool IsOfSlurm(absl::string_view variable) {
  // Where Slurm's configuration is, and which of its clusters are meant, holds for all of its commands.
  if (absl::StartsWith(variable, "SLURM_CONF") || absl::StartsWith(variable, "SLURM_CLUSTERS=")) return false;
  for (const char* const of_sbatch : {"SBATCH_CLUSTERS=", "SBATCH_ARRAY_INX=", "SBATCH_WAIT="}) {
    if (absl::StartsWith(variable, of_sbatch)) return true;
  }
  return absl::StartsWith(variable, "SLURM_") || absl::StartsWith(variable, "SLURMD_") ||
         absl::StartsWith(variable, "SQUEUE_") || absl::StartsWith(variable, "SCANCEL_");
}

std::vector<std::string> Environment() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!IsOfSlurm(*variable)) kept.emplace_back(*variable);
  }
  return kept;
}

}  // namespace

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoToStatus(errno, "pipe");
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

absl::StatusOr<pid_t> SpawnCommand(std::vector<std::string> arguments, int input, int output, int error) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, error, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  const absl::StatusOr<pid_t> pid = StartChildProcess(std::move(arguments), Environment(), actions);
  posix_spawn_file_actions_destroy(&actions);
  return pid;
}

bool AwaitEnd(pid_t pid, std::chrono::steady_clock::time_point deadline, int* status) {
  // It is looked at often, and not for long.
  constexpr timespec kLook = {0, 2000000};
  while (waitpid(pid, status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    nanosleep(&kLook, nullptr);
  }
  return true;
}

int ExitCodeOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace lanista
