// The commands, one function each. A command prints its result to stdout and returns the exit code. An error status
// says why the user's request cannot be met; the launcher prints it.
#ifndef LANISTA_SRC_LAUNCHER_COMMANDS_H_
#define LANISTA_SRC_LAUNCHER_COMMANDS_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/config/labels.h"
#include "src/launcher/command_line.h"
#include "src/launcher/trial_program.h"

namespace lanista {

// What every command gets. Paths are absolute.
struct CommandContext {
  const CommandLine& line;
  TrialProgram trial_program;
  // An error where --state-dir names no folder: for commands that need one.
  absl::StatusOr<std::string> state_dir;
  // Of this machine (--label).
  Labels labels = {};
};

absl::StatusOr<int> RunExperiment(const CommandContext& context);
absl::StatusOr<int> ResumeExperiment(const CommandContext& context);
absl::StatusOr<int> ValidateExperiment(const CommandContext& context);
absl::StatusOr<int> InitProject(const CommandContext& context);
absl::StatusOr<int> ShowDevices(const CommandContext& context);
absl::StatusOr<int> ShowVersion(const CommandContext& context);
absl::StatusOr<int> ListExperiments(const CommandContext& context);
absl::StatusOr<int> ShowExperiment(const CommandContext& context);
absl::StatusOr<int> ShowTrials(const CommandContext& context);
absl::StatusOr<int> ShowTrialLogs(const CommandContext& context);
absl::StatusOr<int> ExportModels(const CommandContext& context);
absl::StatusOr<int> DeleteExperiment(const CommandContext& context);
absl::StatusOr<int> Serve(const CommandContext& context);
absl::StatusOr<int> SubmitExperiment(const CommandContext& context);
absl::StatusOr<int> WatchExperiment(const CommandContext& context);
absl::StatusOr<int> StopExperiment(const CommandContext& context);
absl::StatusOr<int> RunNode(const CommandContext& context);
absl::StatusOr<int> ShowNodes(const CommandContext& context);
absl::StatusOr<int> DrainNode(const CommandContext& context);
absl::StatusOr<int> ServeWeb(const CommandContext& context);
absl::StatusOr<int> ImportGraph(const CommandContext& context);
absl::StatusOr<int> ConvertGraph(const CommandContext& context);
absl::StatusOr<int> ShowGraph(const CommandContext& context);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COMMANDS_H_
