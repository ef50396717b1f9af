// Starts other programs: trial processes, commands of Slurm.
#ifndef LANISTA_SRC_BASE_CHILD_PROCESS_H_
#define LANISTA_SRC_BASE_CHILD_PROCESS_H_

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanista {

// Starts the program `arguments[0]`, which is searched in PATH where it has no slash, with `environment`
// ("NAME=value"), after these file actions. It has a process group of its own, so that Ctrl-C is for this process
// alone, and starts with no signal blocked or ignored: this process may block those that a thread of its own takes, and
// ignore SIGPIPE. Errors name the program. The caller waits for the process. Thread-safe.
absl::StatusOr<pid_t> StartChildProcess(std::vector<std::string> arguments, std::vector<std::string> environment,
                                        const posix_spawn_file_actions_t& actions);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_CHILD_PROCESS_H_
