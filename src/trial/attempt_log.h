// Where the output of a trial goes.
#ifndef LANISTA_SRC_TRIAL_ATTEMPT_LOG_H_
#define LANISTA_SRC_TRIAL_ATTEMPT_LOG_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "src/base/unique_fd.h"

namespace lanista {

// Writes out what this process has printed and still holds in its buffers.
void FlushOutput();

// While an object of this class lives, stdout and stderr of the whole process go to `path`. The destructor restores
// them and removes the file if nothing was written. If the file cannot be made, stdout and stderr stay as they are: a
// missing log is no reason to lose a trial.
//
// A log that grows beyond `most_bytes` loses its middle: its beginning stays (half as many bytes), then a line says how
// much was cut, and what is written afterwards follows. So a model that prints every batch does not fill the disk, and
// the last output of a model that crashes is kept. The size is checked now and then, so the file may be larger for a
// moment.
class AttemptLog {
 public:
  static constexpr int64_t kMostBytes = 16 << 20;

  explicit AttemptLog(std::string path, int64_t most_bytes = kMostBytes);
  ~AttemptLog();
  AttemptLog(const AttemptLog&) = delete;
  AttemptLog& operator=(const AttemptLog&) = delete;

 private:
  // Checks the file's size now and then, until the destructor runs.
  void Watch();
  // Cuts the file, if it is too large.
  void Cut();

  const std::string path_;
  const int64_t most_bytes_;
  UniqueFd file_;
  UniqueFd stdout_;
  UniqueFd stderr_;
  // Used by the watching thread alone until it was joined.
  int64_t cut_bytes_ = 0;

  std::mutex mutex_;
  std::condition_variable ended_changed_;
  // Protected by mutex_.
  bool ended_ = false;
  std::thread watcher_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_ATTEMPT_LOG_H_
