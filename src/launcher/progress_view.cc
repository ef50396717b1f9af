#include "src/launcher/progress_view.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/display_text.h"

namespace lanista {
namespace {

// The time between two redraws.
constexpr std::chrono::milliseconds kRedrawInterval(100);
// After this time the durations in the block are out of date.
constexpr std::chrono::seconds kTick(1);

void WriteTo(int file, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = write(file, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      // Another program that has the terminal open may have made it so.
      pollfd ready = {file, POLLOUT, 0};
      poll(&ready, 1, -1);
      continue;
    }
    if (written < 0) return;  // The reader is gone; the search goes on.
    done += static_cast<size_t>(written);
  }
}

// Whether the environment variable is set and not empty.
bool IsSet(const char* variable) {
  const char* const value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

bool TakesControlSequences(int file) {
  return isatty(file) != 0 && IsSet("TERM") && std::strcmp(std::getenv("TERM"), "dumb") != 0 && !IsSet("NO_COLOR");
}

ProgressOutput::Size TerminalSize(int file) {
  winsize size = {};
  if (ioctl(file, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

ProgressOutput OutputTo(int file) {
  ProgressOutput output;
  output.write = [file](const std::string& bytes) { WriteTo(file, bytes); };
  output.now = absl::Now;
  if (TakesControlSequences(file)) output.terminal_size = [file] { return TerminalSize(file); };
  return output;
}

}  // namespace

std::string LiveBlock::Redraw(const std::vector<std::string>& above, const std::vector<std::string>& lines, int width) {
  width = std::max(width, 2);
  int rows = 0;
  for (const int columns : drawn_) rows += std::max(1, (columns + width - 1) / width);
  drawn_.clear();
  std::string bytes = "\r";
  if (rows > 0) absl::StrAppend(&bytes, "\x1b[", rows, "A");
  // Each line is overwritten and only its rest is cleared, so that the display does not flicker.
  for (const std::string& line : above) absl::StrAppend(&bytes, line, "\x1b[K\n");
  for (const std::string& line : lines) {
    // The last column stays free: some terminals wrap as soon as it is written.
    const absl::string_view cut = CutToWidth(line, width - 1);
    drawn_.push_back(DisplayWidth(cut));
    absl::StrAppend(&bytes, cut, "\x1b[K\n");
  }
  absl::StrAppend(&bytes, "\x1b[J");
  return bytes;
}

ProgressOutput StandardOutput() { return OutputTo(STDOUT_FILENO); }

ProgressOutput StandardError() { return OutputTo(STDERR_FILENO); }

ProgressView::ProgressView(const v1::ExperimentConfig& config, ProgressOutput output,
                           std::function<int()> constructions, const std::optional<EarlierProgress>& earlier)
    : output_(std::move(output)),
      constructions_(std::move(constructions)),
      progress_(config, output_.terminal_size != nullptr, output_.now(), earlier),
      thread_(&ProgressView::Write, this) {}

ProgressView::~ProgressView() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void ProgressView::OnEvent(const v1::ExperimentEvent& event) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::string& line : progress_.Update(event, output_.now())) lines_.push_back(std::move(line));
    dirty_ = true;
  }
  changed_.notify_one();
}

void ProgressView::SetWaiting(absl::string_view waiting_for) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::string& line : progress_.SetWaiting(waiting_for)) lines_.push_back(std::move(line));
    dirty_ = true;
  }
  changed_.notify_one();
}

void ProgressView::Print(absl::string_view line) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(OneLine(line));
    dirty_ = true;
  }
  changed_.notify_one();
}

void ProgressView::Write() {
  LiveBlock block;
  const bool live = output_.terminal_size != nullptr;
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    const auto changed = [this] { return dirty_ || ended_; };
    if (progress_.ticks()) {
      changed_.wait_for(lock, kTick, changed);
    } else {
      changed_.wait(lock, changed);
    }
    const bool last = ended_;
    dirty_ = false;
    if (constructions_) progress_.SetConstructions(constructions_());
    for (std::string& line : progress_.Tick(output_.now())) lines_.push_back(std::move(line));
    const std::vector<std::string> lines = std::exchange(lines_, {});
    std::string bytes;
    if (live) {
      const ProgressOutput::Size size = output_.terminal_size();
      const std::vector<std::string> shown =
          last ? std::vector<std::string>() : progress_.Block(size.lines - 1, size.columns, output_.now());
      bytes = block.Redraw(lines, shown, size.columns);
    } else {
      for (const std::string& line : lines) absl::StrAppend(&bytes, line, "\n");
    }
    lock.unlock();
    if (!bytes.empty()) output_.write(bytes);
    lock.lock();
    if (last) return;
    if (live) changed_.wait_for(lock, kRedrawInterval, [this] { return ended_; });
  }
}

}  // namespace lanista
