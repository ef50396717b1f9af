#include "src/launcher/launcher.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/logging.h"
#include "src/base/openssl_exit.h"
#include "src/base/protobuf_log.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/config/paths.h"
#include "src/launcher/command_line.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/local_head.h"
#include "src/launcher/standard_streams.h"

namespace lanista {
namespace {

using Command = absl::StatusOr<int> (*)(const CommandContext&);

const std::map<std::string, Command>& Commands() {
  static const auto* const kCommands = new std::map<std::string, Command>{
      {"run", RunExperiment},
      {"resume", ResumeExperiment},
      {"validate", ValidateExperiment},
      {"init", InitProject},
      {"devices", ShowDevices},
      {"version", ShowVersion},
      {"list", ListExperiments},
      {"show", ShowExperiment},
      {"trials", ShowTrials},
      {"export", ExportModels},
      {"delete", DeleteExperiment},
      {"import", ImportGraph},
      {"convert", ConvertGraph},
      {"show-graph", ShowGraph},
      {"serve", Serve},
      {"submit", SubmitExperiment},
      {"watch", WatchExperiment},
      {"stop", StopExperiment},
      {"node", RunNode},
      {"nodes", ShowNodes},
      {"drain", DrainNode},
      {"web", ServeWeb},
  };
  return *kCommands;
}

// `lanista-trial` beside this program. /proc/self/exe is the file itself: in a build tree, links to it may lie
// anywhere.
std::string TrialProgramBesideThis() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / "lanista-trial").string();
}

// The folder that --state-dir names, whether it is there or not.
absl::StatusOr<std::string> StateFolder(const std::string& option) {
  if (option.empty()) return absl::InvalidArgumentError("--state-dir is empty; name a folder");
  absl::StatusOr<std::string> folder = ResolvePath(option, UserDirectory());
  if (!folder.ok()) return Annotate(folder.status(), "--state-dir");
  if (IsUtf8(*folder)) return folder;
  return absl::InvalidArgumentError(absl::StrCat("--state-dir ", ToUtf8(*folder), ": the name is not UTF-8"));
}

int ReportError(const absl::Status& status, const CommandLine& line) {
  const std::string message(status.message());
  PrintError(message);
  if (line.json && !JsonWasPrinted()) PrintJson({{"error", message}});
  const bool may_pass = absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
  const bool has_head = !line.head.empty() || line.command == "node";
  if (may_pass && has_head) return kExitNoHead;
  // The machine's fault: the command may do better another time.
  if (may_pass) return kExitFailed;
  // Nothing was started: whatever it was, the same command would fail again.
  if (line.command == "run" || line.command == "validate") return kExitUsage;
  const bool asked_wrong =
      absl::IsInvalidArgument(status) || absl::IsNotFound(status) || absl::IsFailedPrecondition(status);
  const bool refused = absl::IsUnauthenticated(status) || absl::IsPermissionDenied(status) ||
                       (line.command == "submit" && absl::IsAlreadyExists(status));
  return asked_wrong || (refused && has_head) ? kExitUsage : kExitFailed;
}

int RunCommandLine(int argc, char** argv, const LauncherOptions& options) {
  const std::variant<CommandLine, CommandLineExit> parsed = ParseCommandLine(argc, argv);
  if (const auto* const done = std::get_if<CommandLineExit>(&parsed)) {
    if (done->exit_code == kExitDone) {
      PrintText(done->text);
    } else {
      PrintError(done->text);
      if (done->json) PrintJson({{"error", done->text}});
    }
    return done->exit_code;
  }
  const auto& line = std::get<CommandLine>(parsed);

  CommandContext context{line, options.trial_program, StateFolder(line.state_dir)};
  if (!line.trial_program.empty()) {
    absl::StatusOr<std::string> path = ResolvePath(line.trial_program, UserDirectory());
    if (!path.ok()) return ReportError(Annotate(path.status(), "--trial-program"), line);
    context.trial_program = {*std::move(path), nullptr};
  } else if (context.trial_program.path.empty()) {
    context.trial_program.path = TrialProgramBesideThis();
  }
  absl::StatusOr<DataFolders> data = DataFolders::Parse(line.data, UserDirectory());
  if (!data.ok()) return ReportError(data.status(), line);
  context.trial_program.data = *std::move(data);
  absl::StatusOr<Labels> labels = ParseLabels(line.labels);
  if (!labels.ok()) return ReportError(labels.status(), line);
  context.labels = *std::move(labels);
  LoggingOptions logging;
  if (!line.log_level.empty()) logging.console_level = line.log_level;
  const absl::Status logging_status = SetUpLogging(logging);
  if (!logging_status.ok()) return ReportError(logging_status, line);

  const absl::StatusOr<int> result = Commands().at(line.command)(context);
  const int exit_code = result.ok() ? *result : ReportError(result.status(), line);
  if (LocalHead::LeftActorsBehind()) {
    std::fflush(nullptr);
    _exit(CheckStandardOutput(exit_code));
  }
  return exit_code;
}

}  // namespace

int LauncherMain(int argc, char** argv, const LauncherOptions& options) {
  OpenClosedStandardStreams();
  KeepOpenSslAtExit();
  TakeProtobufLog();
  return CheckStandardOutput(RunCommandLine(argc, argv, options));
}

}  // namespace lanista
