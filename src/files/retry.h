// Trying again what may pass: a connection that is lost, a head that is restarted, a disk that is full.
#ifndef LANISTA_SRC_FILES_RETRY_H_
#define LANISTA_SRC_FILES_RETRY_H_

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "src/base/display_text.h"
#include "src/base/logging.h"
#include "src/base/utf8.h"
#include "src/files/cancellation.h"

namespace lanista {

// Trying again may help.
inline bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsNotFound(status) || absl::IsDeadlineExceeded(status);
}

// Calls `fails` until it says that trying again would not help; after each time waits longer, from `delay` up to 30 s.
// CANCELLED: nobody needs it any more.
inline absl::Status Retry(Cancellation* cancellation, std::chrono::milliseconds delay,
                          const std::function<bool()>& fails) {
  constexpr std::chrono::milliseconds kLongestDelay(30000);
  while (true) {
    const bool again = fails();
    if (cancellation->canceled()) return absl::CancelledError("it is not needed any more");
    if (!again) return absl::OkStatus();
    cancellation->WaitFor(delay);
    delay = std::min(2 * delay, kLongestDelay);
  }
}

// Tells in the log why something is tried again: each new reason once.
class Reasons {
 public:
  // `what`: of the line of the log, which goes on with the reason.
  explicit Reasons(std::string what) : what_(std::move(what)) {}

  void Say(const absl::Status& reason) {
    const std::string message(reason.message());
    if (std::exchange(last_, message) == message) return;
    LogWarning("{}: {}; trying again", what_, OneLine(ToUtf8(message)));
  }

 private:
  const std::string what_;
  std::string last_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_RETRY_H_
