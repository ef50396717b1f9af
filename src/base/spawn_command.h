// How programs of the system are started.
#ifndef LANISTA_SRC_BASE_SPAWN_COMMAND_H_
#define LANISTA_SRC_BASE_SPAWN_COMMAND_H_

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"

namespace lanista {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

absl::StatusOr<Pipe> MakePipe();

// Starts a program, looked for on PATH, in a process group of its own, without what makes a process part of a Slurm job
// in its environment (see RunCommand), and with no descriptors but these. NOT_FOUND: there is no such program.
absl::StatusOr<pid_t> SpawnCommand(std::vector<std::string> arguments, int input, int output, int error);

// Waits for a process that has closed its outputs, and so is about to end; then `status` is waitpid's. False: the time
// is over before.
bool AwaitEnd(pid_t pid, std::chrono::steady_clock::time_point deadline, int* status);

// The exit code of a status of waitpid; 128 + the signal, where one ended it.
int ExitCodeOf(int wait_status);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SPAWN_COMMAND_H_
