// run and resume.
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/logging.h"
#include "src/base/shell_word.h"
#include "src/base/status.h"
#include "src/config/config.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/head_connection.h"
#include "src/launcher/head_port.h"
#include "src/launcher/local_head.h"
#include "src/launcher/local_run.h"
#include "src/launcher/page.h"
#include "src/launcher/progress.h"
#include "src/launcher/results.h"
#include "src/launcher/run_display.h"
#include "src/launcher/signal_thread.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/documents.h"
#include "src/views/tables.h"

namespace lanista {
namespace {

constexpr char kEndsNodes[] =
    "the nodes that were started for it (Slurm jobs, machines) are being ended; another Ctrl-C leaves them";

// What Ctrl-C does: the first signal stops the experiment; the second ends the process, and so does any signal before
// the experiment has started or after it has ended. Where nodes were started for an experiment that has not begun, the
// first signal ends these; where they are being ended already, it says so only; where the page stays, the next one ends
// that and nothing else. Says which of these happened. Thread-safe.
class Interrupt {
 public:
  // `quiet`: no display will show that the experiment is stopping (--json). `brings_nodes`: what was started for the
  // experiment elsewhere (Slurm jobs) has to be ended with the head. `page_stays`: WaitForSignal is called at the end.
  Interrupt(bool quiet, bool brings_nodes, bool page_stays)
      : quiet_(quiet), brings_nodes_(brings_nodes), page_stays_(page_stays) {}

  // The head was started. It outlives the call of Ended.
  void HeadStarted(LocalHead& head) {
    const std::lock_guard<std::mutex> lock(mutex_);
    head_ = &head;
  }

  void Started(const std::string& experiment) {
    const std::lock_guard<std::mutex> lock(mutex_);
    experiment_ = experiment;
  }

  // The experiment has ended, or the head is about to.
  void Ending() {
    const std::lock_guard<std::mutex> lock(mutex_);
    head_ = nullptr;
    ends_nodes_ = brings_nodes_;
  }

  // It has gone.
  void Ended() {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_nodes_ = false;
  }

  // The user stopped the search on the page.
  void Stop(const std::string& experiment, const std::string& reason) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (head_ == nullptr) return;
    stopped_ = true;
    head_->Stop(experiment, reason);
  }

  // The user does not wait for the experiment to begin.
  bool abandoned() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return abandoned_;
  }

  // Blocks until the user no longer wants the page: until a signal that comes after the end of the experiment.
  void WaitForSignal() {
    std::unique_lock<std::mutex> lock(mutex_);
    signaled_.wait(lock, [this] { return left_page_; });
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
      if (quiet_) PrintNote("stopping the experiment; a second Ctrl-C ends it at once");
      head_->Stop(experiment_, "stopped by the user");
      return;
    }
    if (count == 1 && head_ != nullptr && brings_nodes_) {
      abandoned_ = said_ = true;
      return PrintNote(absl::StrCat("interrupted: the experiment had not started; ", kEndsNodes));
    }
    if (ends_nodes_ && !std::exchange(said_, true)) return PrintNote(kEndsNodes);
    if (page_stays_ && head_ == nullptr && !experiment_.empty() && !std::exchange(left_page_, true)) {
      signaled_.notify_all();
      return;
    }
    const bool leaves_nodes = brings_nodes_ && (head_ != nullptr || ends_nodes_);
    const char* const nodes = leaves_nodes ? "; look for nodes that were started for it (`squeue --me`)" : "";
    if (experiment_.empty()) {
      PrintNote(absl::StrCat("interrupted: the experiment had not started", nodes));
    } else if (head_ != nullptr) {
      PrintNote(absl::StrCat("ended at once: what was reported until now is in the journal of ", experiment_,
                             ", and `resume` goes on from there", nodes));
    } else {
      PrintNote(absl::StrCat("interrupted: ", experiment_, " has ended and is recorded", nodes));
    }
    // Trial processes end by themselves when the connection to this process closes.
    _exit(kExitKilled);
  }

 private:
  mutable std::mutex mutex_;
  const bool quiet_;
  const bool brings_nodes_;
  const bool page_stays_;
  // Protected by mutex_, as is what follows.
  LocalHead* head_ = nullptr;
  std::string experiment_;
  bool stopped_ = false;
  bool abandoned_ = false;
  // Its nodes are being ended; and the user knows.
  bool ends_nodes_ = false;
  bool said_ = false;
  // A signal came that ends WaitForSignal.
  bool left_page_ = false;
  std::condition_variable signaled_;
};

// The document of `show` without the reason for which the experiment failed: RunExperiment prints it last, as the
// error. Where all failures are equal, that reason names the failure as well.
nlohmann::ordered_json WithoutReason(nlohmann::ordered_json document) {
  if (document["status"] != "FAILED") return document;
  document["reason"] = "";
  if (document["failures"].size() == 1) document["failures"] = nlohmann::ordered_json::array();
  return document;
}

// Prints the end, from the journal: with --json the document of `show`; else state, top models, failures, where the
// results lie, how to get at them and how to go on. Returns FindNoResult.
absl::StatusOr<std::string> PrintSummary(const CommandContext& context, const std::string& folder) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const nlohmann::ordered_json document, ShowDocument(reader));
  if (context.line.json) {
    PrintJson(document);
  } else {
    PrintText(absl::StrCat("\n", ShowText(WithoutReason(document), OutputWidth()), "\n"));
    PrintLine(absl::StrCat("results: ", folder));
  }
  const std::string id = document["id"].get<std::string>();
  const std::string program = ShellWord(context.line.program);
  const std::string state_dir = context.line.state_dir == CommandLine().state_dir
                                    ? ""
                                    : absl::StrCat(" --state-dir ", ShellWord(context.line.state_dir));
  if (!context.line.json && !document["best"].empty()) {
    PrintLine(absl::StrCat("export:  ", program, " export ", id, " --top 3 --out DIR", state_dir));
  }
  if (!context.line.json && document["status"] != "DONE") {
    PrintLine(absl::StrCat("go on:   ", program, " resume ", id, state_dir));
  }
  std::fflush(stdout);
  return FindNoResult(document);
}

// Starts an experiment, or goes on with one; returns its id.
using StartExperiment = std::function<absl::StatusOr<std::string>(LocalRun& run, LocalHead::Watcher watcher,
                                                                  const LocalHead::Abandoned& abandoned)>;

// Runs an experiment to its end on a head of this process, shows its progress and prints what came of it. `earlier`:
// what it did before, if it goes on.
absl::StatusOr<int> RunToEnd(const CommandContext& context, const StateDir& state_dir,
                             const v1::ExperimentConfig& config, const std::optional<EarlierProgress>& earlier,
                             const StartExperiment& start) {
  const CommandLine& line = context.line;
  LoggingOptions logging;
  if (!line.log_level.empty()) logging.console_level = line.log_level;
  logging.file = absl::StrCat(state_dir.root(), "/lanista.log");
  LANISTA_RETURN_IF_ERROR(SetUpLogging(logging));

  CatchStopSignals();
  signal(SIGPIPE, SIG_IGN);  // The search goes on where nobody reads its progress any more.
  // The page may use it until the end of `run`.
  Interrupt interrupt(line.json, SeeksNodes(config.training_service()), !line.web.empty() && line.web_stay);
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<LocalRun> run, LocalRun::Open(context, state_dir, config));
  if (!run->node_address().empty()) PrintNote(absl::StrCat("nodes join at ", run->node_address()));
  const auto end_run = [&] {
    interrupt.Ending();
    run->End();
    interrupt.Ended();
  };
  interrupt.HeadStarted(run->head());
  const SignalThread signals([&](int count) { interrupt.OnSignal(count); });
  const absl::Cleanup end_run_on_error = end_run;

  if (!line.web.empty()) {
    LANISTA_RETURN_IF_ERROR(run->OpenPage([&interrupt](const std::string& experiment, const std::string& reason) {
      interrupt.Stop(experiment, reason);
    }));
    // With --json, stdout holds exactly one document.
    line.json ? PrintNote(PageLine(run->page_link())) : PrintLine(PageLine(run->page_link()));
    std::fflush(stdout);
  }
  std::optional<RunDisplay> display;
  if (!line.json) display.emplace(config, earlier, run->head());
  const auto on_event = [&](const v1::ExperimentEvent& event) {
    // Set with the first event, because a user may press Ctrl-C before the experiment's id is here.
    interrupt.Started(event.experiment());
    if (display) display->OnEvent(event);
  };
  const absl::StatusOr<std::string> id = start(*run, on_event, [&interrupt] { return interrupt.abandoned(); });
  if (!id.ok()) {
    // If the user has stopped the search on the page before it began, the watcher may still be running.
    end_run();
    if (absl::IsCancelled(id.status()) && interrupt.abandoned()) return kExitKilled;
    return id.status();
  }
  // From here on a signal stops it; one that came before asked for that.
  interrupt.Started(*id);
  if (interrupt.abandoned()) interrupt.Stop(*id, "stopped by the user");
  const v1::StateChanged end = run->head().Wait(*id);
  // A signal from here on has nothing to stop.
  interrupt.Ending();
  display.reset();

  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(*id));
  const absl::StatusOr<std::string> no_result = PrintSummary(context, folder);
  end_run();

  std::string error;
  if (end.state() == v1::ExperimentState::FAILED) {
    error = absl::StrCat("the experiment failed: ", end.reason());
  } else if (!no_result.ok()) {
    error = std::string(no_result.status().message());
  } else if (!interrupt.stopped()) {
    error = *no_result;
  }
  if (!error.empty()) PrintError(error);
  if (line.json && !no_result.ok()) PrintJson({{"error", error}});
  if (!run->page_link().empty() && line.web_stay) {
    PrintNote(absl::StrCat("the page stays open until Ctrl-C: ", run->page_link()));
    std::fflush(stdout);
    interrupt.WaitForSignal();
  }
  return error.empty() && !interrupt.stopped() ? kExitDone : kExitFailed;
}

}  // namespace

absl::StatusOr<int> RunExperiment(const CommandContext& context) {
  const CommandLine& line = context.line;
  LANISTA_ASSIGN_OR_RETURN(const v1::ExperimentConfig config, LoadConfig(line.config, line.overrides));
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
  return RunToEnd(context, state_dir, config, std::nullopt,
                  [&](LocalRun& run, LocalHead::Watcher watcher, const LocalHead::Abandoned& abandoned) {
                    return run.Submit(config, std::move(watcher), abandoned);
                  });
}

absl::StatusOr<int> ResumeExperiment(const CommandContext& context) {
  const CommandLine& line = context.line;
  if (!line.head.empty()) return ResumeOnHead(context);
  LANISTA_ASSIGN_OR_RETURN(const std::string root, context.state_dir);
  LANISTA_ASSIGN_OR_RETURN(const EarlierExperiment earlier, FindEarlier(root, line.experiment, line.overrides));
  LANISTA_ASSIGN_OR_RETURN(const StateDir state_dir, StateDir::Open(root));
  return RunToEnd(context, state_dir, earlier.config, earlier.progress,
                  [&](LocalRun& run, LocalHead::Watcher watcher,
                      const LocalHead::Abandoned& abandoned) -> absl::StatusOr<std::string> {
                    LANISTA_RETURN_IF_ERROR(run.Resume(earlier.id, earlier.config, std::move(watcher), abandoned));
                    return earlier.id;
                  });
}

}  // namespace lanista
