// Progress on a terminal or in a pipe.
#ifndef LANISTA_SRC_LAUNCHER_PROGRESS_VIEW_H_
#define LANISTA_SRC_LAUNCHER_PROGRESS_VIEW_H_

#include <condition_variable>
#include <functional>
#include <mutex>
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
  // Replaces the block by `lines`, each cut to `width` columns, with the lines `above` printed for good before it. Old
  // lines that a narrower terminal has wrapped meanwhile are found again by their length.
  std::string Redraw(const std::vector<std::string>& above, const std::vector<std::string>& lines, int width);

 private:
  // Columns of each line on the screen.
  std::vector<int> drawn_;
};

// Columns of UTF-8 text: its code points. And its first `columns`.
int Columns(absl::string_view text);
absl::string_view Cut(absl::string_view text, int columns);

// Where progress goes.
struct ProgressOutput {
  struct Size {
    int columns;
    int lines;
  };
  std::function<void(const std::string& bytes)> write;
  // A terminal's size now; empty where it is not one: plain lines then.
  std::function<Size()> terminal_size;
  std::function<absl::Time()> now;
};

// stdout as it is.
ProgressOutput StandardOutput();

// Shows the events of an experiment. A thread of its own writes, when something has changed (on a terminal: the seconds
// of a running trial, too) and at most ten times a second; so no call waits for the terminal, or for whoever reads the
// pipe. Thread-safe.
class ProgressView {
 public:
  ProgressView(const v1::ExperimentConfig& config, ProgressOutput output);
  // Writes what is left and removes the block.
  ~ProgressView();

  ProgressView(const ProgressView&) = delete;
  ProgressView& operator=(const ProgressView&) = delete;

  void OnEvent(const v1::ExperimentEvent& event);
  // Prints a line for good: above the block, if there is one.
  void Print(absl::string_view line);

 private:
  void Write();

  // Constant after construction.
  const ProgressOutput output_;

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
