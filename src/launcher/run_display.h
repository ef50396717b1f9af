// What people see of an experiment that this process runs.
#ifndef LANISTA_SRC_LAUNCHER_RUN_DISPLAY_H_
#define LANISTA_SRC_LAUNCHER_RUN_DISPLAY_H_

#include <unistd.h>

#include <optional>

#include "absl/strings/string_view.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/base/logging.h"
#include "src/launcher/local_head.h"
#include "src/launcher/progress.h"
#include "src/launcher/progress_view.h"

namespace lanista {

// The live progress of a run on stdout, with log lines above it. Thread-safe. At most one at a time.
class RunDisplay {
 public:
  // `head` outlives this. `earlier`: what the experiment did before, if it goes on.
  RunDisplay(const v1::ExperimentConfig& config, const std::optional<EarlierProgress>& earlier, const LocalHead& head)
      : view_(
            config, StandardOutput(), [&head] { return head.constructions(); }, earlier) {
    if (isatty(STDOUT_FILENO) == 0 || isatty(STDERR_FILENO) == 0) return;
    RedirectConsoleLog([this](absl::string_view line) { view_.Print(line); });
  }
  ~RunDisplay() { RedirectConsoleLog(nullptr); }

  RunDisplay(const RunDisplay&) = delete;
  RunDisplay& operator=(const RunDisplay&) = delete;

  void OnEvent(const v1::ExperimentEvent& event) { view_.OnEvent(event); }

 private:
  ProgressView view_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_RUN_DISPLAY_H_
