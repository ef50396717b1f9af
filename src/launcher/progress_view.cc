#include "src/launcher/progress_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace lanista {
namespace {

// Between two redraws.
constexpr std::chrono::milliseconds kRedrawInterval(100);
// Until the times in the block have changed.
constexpr std::chrono::seconds kTick(1);

bool BeginsCodePoint(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

void WriteToStdout(const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t written = write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return;  // Nobody listens any more; the search goes on.
    done += static_cast<size_t>(written);
  }
}

ProgressOutput::Size TerminalSize() {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {80, 24};
  return {size.ws_col, size.ws_row};
}

}  // namespace

int Columns(absl::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), BeginsCodePoint));
}

absl::string_view Cut(absl::string_view text, int columns) {
  int seen = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (BeginsCodePoint(text[i]) && ++seen > columns) return text.substr(0, i);
  }
  return text;
}

std::string LiveBlock::Redraw(const std::vector<std::string>& above, const std::vector<std::string>& lines, int width) {
  width = std::max(width, 2);
  int rows = 0;
  for (const int columns : drawn_) rows += std::max(1, (columns + width - 1) / width);
  drawn_.clear();
  std::string bytes = "\r";
  if (rows > 0) absl::StrAppend(&bytes, "\x1b[", rows, "A");
  // Each line is overwritten and its rest cleared, and the rest of the screen at the end: nothing is ever blank.
  for (const std::string& line : above) absl::StrAppend(&bytes, line, "\x1b[K\n");
  for (const std::string& line : lines) {
    // The last column stays free: some terminals wrap as soon as it is written.
    const absl::string_view cut = Cut(line, width - 1);
    drawn_.push_back(Columns(cut));
    absl::StrAppend(&bytes, cut, "\x1b[K\n");
  }
  absl::StrAppend(&bytes, "\x1b[J");
  return bytes;
}

ProgressOutput StandardOutput() {
  ProgressOutput output;
  output.write = WriteToStdout;
  output.now = absl::Now;
  if (isatty(STDOUT_FILENO) != 0) output.terminal_size = TerminalSize;
  return output;
}

ProgressView::ProgressView(const v1::ExperimentConfig& config, ProgressOutput output)
    : output_(std::move(output)),
      progress_(config, output_.terminal_size != nullptr),
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

void ProgressView::Print(absl::string_view line) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    lines_.push_back(OneLine(std::string(line)));
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
    if (live && progress_.ticks()) {
      changed_.wait_for(lock, kTick, changed);
    } else {
      changed_.wait(lock, changed);
    }
    const bool last = ended_;
    dirty_ = false;
    const std::vector<std::string> lines = std::exchange(lines_, {});
    std::string bytes;
    if (live) {
      const ProgressOutput::Size size = output_.terminal_size();
      const std::vector<std::string> shown =
          last ? std::vector<std::string>() : progress_.Block(size.lines - 1, output_.now());
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
