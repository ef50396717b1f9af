// Waiting until the user ends a command that serves.
#ifndef LANISTA_SRC_LAUNCHER_UNTIL_SIGNAL_H_
#define LANISTA_SRC_LAUNCHER_UNTIL_SIGNAL_H_

#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "src/launcher/exit_codes.h"

namespace lanista {

// The first signal ends what waits; a second one ends the process at once. Thread-safe.
class UntilSignal {
 public:
  void OnSignal(int count) {
    if (count > 1) _exit(kExitKilled);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      came_ = true;
    }
    changed_.notify_one();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return came_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool came_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_UNTIL_SIGNAL_H_
