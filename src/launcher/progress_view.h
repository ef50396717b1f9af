// Progress on a terminal or in a pipe.
#ifndef LANISTA_SRC_LAUNCHER_PROGRESS_VIEW_H_
#define LANISTA_SRC_LAUNCHER_PROGRESS_VIEW_H_

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/launcher/progress.h"

namespace lanista {

// A block of lines at the end of what a terminal shows, redrawn in place. Makes the bytes to write; writes nothing.
class LiveBlock {
 public:
  // Replaces the block by `lines`, each cut to `width` columns, after printing the lines `above`, which stay. Where the
  // terminal has become narrower and wrapped old lines, their lengths tell how many rows to go up.
  std::string Redraw(const std::vector<std::string>& above, const std::vector<std::string>& lines, int width);

 private:
  // Cells of each line on the screen.
  std::vector<int> drawn_;
};

// Where progress goes.
struct ProgressOutput {
  struct Size {
    int columns;
    int lines;
  };
  std::function<void(const std::string& bytes)> write;
  // Returns the terminal's size now. Empty where the output is no terminal: it gets plain lines.
  std::function<Size()> terminal_size;
  std::function<absl::Time()> now;
};

// stdout. It counts as a terminal where it is one that may get control sequences: not with TERM=dumb or without TERM,
// and not where the user sets NO_COLOR (no-color.org).
ProgressOutput StandardOutput();
// The same of stderr: for commands whose results are not the progress.
ProgressOutput StandardError();

// Shows the events of an experiment. A thread of its own writes, when something has changed (on a terminal: the seconds
// of a running trial, too) and at most ten times a second; so no call waits for the terminal, or for whoever reads the
// pipe. Thread-safe.
class ProgressView {
 public:
  // `constructions`: how many constructions of the space have been tried; called on that thread. Empty: not known.
  ProgressView(const v1::ExperimentConfig& config, ProgressOutput output, std::function<int()> constructions = {},
               const std::optional<EarlierProgress>& earlier = std::nullopt);
  // Writes what is left and removes the block.
  ~ProgressView();

  ProgressView(const ProgressView&) = delete;
  ProgressView& operator=(const ProgressView&) = delete;

  void OnEvent(const v1::ExperimentEvent& event);
  // See Progress::SetWaiting.
  void SetWaiting(absl::string_view waiting_for);
  // Prints a line that stays: above the block, if there is one.
  void Print(absl::string_view line);

 private:
  void Write();

  // Constant after construction.
  const ProgressOutput output_;
  const std::function<int()> constructions_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  Progress progress_;
  std::vector<std::string> lines_;
  bool dirty_ = false;
  bool ended_ = false;

  std::thread thread_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_PROGRESS_VIEW_H_
