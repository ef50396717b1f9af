// Programs of the system that do one thing and end (sbatch, ssh).
#ifndef LANISTA_SRC_BASE_COMMAND_H_
#define LANISTA_SRC_BASE_COMMAND_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanista {

struct Command {
  // The program, looked for on PATH, and its arguments. No shell reads them.
  std::vector<std::string> arguments;
  // What it reads from its standard input.
  std::string input = {};
  // It is killed, with all that it started, when it takes longer.
  std::chrono::milliseconds limit{30000};
  // Asked now and then; may be empty. Once it is true, the program has at most `grace` left.
  std::function<bool()> ending = {};
  std::chrono::milliseconds grace{5000};
};

struct CommandAnswer {
  // 128 + the signal, where one ended it.
  int exit_code = 0;
  // The first MiB of each, and whether there was more.
  std::string output;
  std::string error;
  bool cut = false;
};

// Runs it to its end; blocks. Variables of the environment that a Slurm job sets for its own processes (SLURM_JOB_ID
// and the like) are not handed on, because Slurm's commands would take them for options: a head may itself be a job.
// Nor are those that filter what squeue and scancel see (SQUEUE_STATES and the like): people set them for their own
// eyes. Thread-safe. NOT_FOUND: there is no such program. DEADLINE_EXCEEDED: it was killed; whether it did its work is
// not known. CANCELLED: the same, because of Command.ending. REQUIRES: SIGPIPE is ignored, where there is input.
absl::StatusOr<CommandAnswer> RunCommand(const Command& command);

// RunCommand, or a test's own.
using CommandRunner = std::function<absl::StatusOr<CommandAnswer>(const Command&)>;

// What went wrong, in the program's own words, on one line: "sbatch: error: invalid partition specified: x".
std::string WhatItSaid(const Command& command, const CommandAnswer& result);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_COMMAND_H_
