#include "src/trial/attempt_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

UniqueFd Duplicate(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

void FlushOutput() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

AttemptLog::AttemptLog(std::string path, int64_t most_bytes)
    : path_(std::move(path)),
      most_bytes_(most_bytes),
      file_(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (file_.get() < 0) return;
  FlushOutput();
  stdout_ = Duplicate(STDOUT_FILENO);
  stderr_ = Duplicate(STDERR_FILENO);
  dup2(file_.get(), STDOUT_FILENO);
  dup2(file_.get(), STDERR_FILENO);
  watcher_ = std::thread([this] { Watch(); });
}

AttemptLog::~AttemptLog() {
  if (file_.get() < 0) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  ended_changed_.notify_one();
  watcher_.join();
  FlushOutput();
  Cut();
  struct stat info {};
  if (fstat(file_.get(), &info) == 0 && info.st_size == 0) unlink(path_.c_str());
  dup2(stdout_.get(), STDOUT_FILENO);
  dup2(stderr_.get(), STDERR_FILENO);
}

void AttemptLog::Watch() {
  constexpr std::chrono::milliseconds kInterval(200);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ended_changed_.wait_for(lock, kInterval, [this] { return ended_; })) Cut();
}

void AttemptLog::Cut() {
  struct stat info {};
  if (fstat(file_.get(), &info) != 0 || info.st_size <= most_bytes_) return;
  const int64_t kept = most_bytes_ / 2;
  // An earlier cut's line is cut, too.
  cut_bytes_ += info.st_size - kept;
  if (ftruncate(file_.get(), kept) != 0) return;
  const std::string note =
      absl::StrCat("\n[... about ", cut_bytes_, " bytes of output were cut here: a log holds ", most_bytes_, " ...]\n");
  [[maybe_unused]] const ssize_t written = write(file_.get(), note.data(), note.size());
}

}  // namespace lanista
