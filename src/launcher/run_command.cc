// run.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/logging.h"
#include "src/base/status.h"
#include "src/config/config.h"
#include "src/launcher/commands.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/local_head.h"
#include "src/launcher/progress_view.h"
#include "src/launcher/signal_thread.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"
#include "src/views/tables.h"

namespace lanista {
namespace {

// What signals stop: the first one the experiment, the second (or any before there is an experiment, or after it) the
// process. Thread-safe.
class Interrupt {
 public:
  explicit Interrupt(LocalHead& head) : head_(&head) {}

  void Started(const std::string& experiment) {
    const std::lock_guard<std::mutex> lock(mutex_);
    experiment_ = experiment;
  }

  // The head is about to go.
  void Ended() {
    const std::lock_guard<std::mutex> lock(mutex_);
    head_ = nullptr;
  }

  // True once the user has stopped the experiment.
  bool stopped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stopped_;
  }

  void OnSignal(int count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (count == 1 && head_ != nullptr && !experiment_.empty()) {
      stopped_ = true;
      head_->Stop(experiment_, "stopped by the user");
      return;
    }
    // Trial processes end with the connection to this one.
    _exit(kExitKilled);
  }

 private:
  mutable std::mutex mutex_;
  LocalHead* head_;
  std::string experiment_;
  bool stopped_ = false;
};

// The live progress of a run, with log lines above it.
class Display {
 public:
  explicit Display(const v1::ExperimentConfig& config) : view_(config, StandardOutput()) {
    if (isatty(STDOUT_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return;
    RedirectConsoleLog([this](absl::string_view line) { view_.Print(line); });
  }
  ~Display() { RedirectConsoleLog(nullptr); }

  void OnEvent(const v1::ExperimentEvent& event) { view_.OnEvent(event); }

 private:
  ProgressView view_;
};

// Prints the end, from the journal: with --json the document of `show`; else state, top models, failures, where the
// results lie and how to get at them. Returns how many models have a result.
absl::StatusOr<int> PrintSummary(const CommandContext& context, const std::string& folder) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, ShowDocument(reader));
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  const int with_result = counts.succeeded + counts.stopped_early;
  if (context.line.json) {
    std::puts(ToText(document).c_str());
  } else {
    std::printf("\n%s\nresults: %s\n", ShowText(document).c_str(), folder.c_str());
  }
  if (!context.line.json && counts.succeeded > 0) {
    const std::string state_dir =
        context.line.state_dir == CommandLine().state_dir ? "" : absl::StrCat(" --state-dir ", context.line.state_dir);
    std::printf("export:  lanista export %s --top 3 --out DIR%s\n", document["id"].get<std::string>().c_str(),
                state_dir.c_str());
  }
  std::fflush(stdout);
  return with_result;
}

}  // namespace

absl::StatusOr<int> RunExperiment(const CommandContext& context) {
  const CommandLine& line = context.line;
  LANISTA_ASSIGN_OR_RETURN(const v1::ExperimentConfig config, LoadConfig(line.config, line.overrides));
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
  LoggingOptions logging;
  if (!line.log_level.empty()) logging.console_level = line.log_level;
  logging.file = absl::StrCat(state_dir.root(), "/lanista.log");
  LANISTA_RETURN_IF_ERROR(SetUpLogging(logging));

  CatchStopSignals();
  signal(SIGPIPE, SIG_IGN);  // A search outlives whoever reads its progress.
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<LocalHead> head,
                           LocalHead::Start({state_dir, context.trial_program}, config));
  Interrupt interrupt(*head);
  const SignalThread signals([&](int count) { interrupt.OnSignal(count); });

  std::optional<Display> display;
  if (!line.json) display.emplace(config);
  LANISTA_ASSIGN_OR_RETURN(const std::string id, head->Submit(config, [&](const v1::ExperimentEvent& event) {
    // Before the first line that a user may answer with Ctrl-C, and so before Submit has returned.
    interrupt.Started(event.experiment());
    if (display) display->OnEvent(event);
  }));
  const v1::StateChanged end = head->Wait(id);
  display.reset();

  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
  const absl::StatusOr<int> with_result = PrintSummary(context, folder);
  interrupt.Ended();
  head.reset();

  std::string error;
  if (end.state() == v1::EXPERIMENT_FAILED) {
    error = absl::StrCat("the experiment failed: ", end.reason());
  } else if (!with_result.ok()) {
    error = std::string(with_result.status().message());
  } else if (*with_result == 0 && !interrupt.stopped()) {
    error = "no model succeeded";
  }
  if (!error.empty()) std::fprintf(stderr, "lanista: error: %s\n", error.c_str());
  if (line.json && !with_result.ok()) std::puts(ToText({{"error", error}}).c_str());
  return error.empty() && !interrupt.stopped() ? kExitDone : kExitFailed;
}

}  // namespace lanista
