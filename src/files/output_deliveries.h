// The node's half of what its trials write: finds it, and delivers it to the head.
#ifndef LANISTA_SRC_FILES_OUTPUT_DELIVERIES_H_
#define LANISTA_SRC_FILES_OUTPUT_DELIVERIES_H_

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "protos/node.pb.h"
#include "src/base/work_queue.h"
#include "src/files/file_sink.h"
#include "src/files/local_work.h"
#include "src/files/trial_outputs.h"

namespace lanista {

// Follows trials. A trial's deliveries come one after the other; those of different trials, four at a time. Each
// trial's checkpoints are looked at every look_interval, and less often where delivering them takes long: a fifth of
// the time at most. A checkpoint that changes meanwhile is not waited for: the newest one goes next. Thread-safe;
// nothing blocks.
class OutputDeliveries {
 public:
  struct Options {
    std::chrono::milliseconds look_interval{2000};
    // Between two deliveries of a log that grows.
    std::chrono::milliseconds log_interval{30000};
    // After an error that may pass: so long at first, and then longer and longer.
    std::chrono::milliseconds first_delay{1000};
  };

  OutputDeliveries(const Options& options, std::shared_ptr<FileSink> sink);
  // Cancels what is being done, and waits for it.
  ~OutputDeliveries();
  OutputDeliveries(const OutputDeliveries&) = delete;
  OutputDeliveries& operator=(const OutputDeliveries&) = delete;

  // `assignment`: a trial, as the head said it, that runs with `work`.
  std::unique_ptr<TrialOutputs> Follow(const v1::Assignment& assignment, LocalWorkPtr work);

 private:
  class Trial;
  class Handle;

  // Until it ends.
  void LookNowAndThen();

  const Options options_;
  const std::shared_ptr<FileSink> sink_;

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  bool ended_ = false;
  std::vector<std::weak_ptr<Trial>> trials_;

  std::optional<WorkQueue> queue_;
  std::thread looker_;
};

// Copies a log as it is now to `to`. Of one that is larger than `most_bytes` the middle is left out, and a line says
// how much was cut. FAILED_PRECONDITION: it cannot be read, or not written.
absl::Status CopyLog(const std::string& log, const std::string& to, int64_t most_bytes);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_OUTPUT_DELIVERIES_H_
