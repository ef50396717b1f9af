// Calls that are not let in: counted, and told in the log, with who called.
#ifndef LANISTA_SRC_RPC_REFUSED_CALLS_H_
#define LANISTA_SRC_RPC_REFUSED_CALLS_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

// Whoever knocks often must not fill the log: of each kind of refusal there is one line in an interval, which says
// how many there were since the last one. Thread-safe.
//
// gRPC does not tell those who check a call where it comes from. So this knows the connections that were accepted, and
// names the one over which something came last: in the moment of the check that is the caller's, and where another one
// was heard in the same moment, both are named.
class RefusedCalls {
 public:
  explicit RefusedCalls(TelemetryPtr telemetry,
                        std::chrono::steady_clock::duration log_interval = std::chrono::seconds(10))
      : telemetry_(std::move(telemetry)), log_interval_(log_interval) {}

  // A connection was accepted, and is about to be handed to gRPC, which owns it.
  void OnConnection(int connection);

  // `why`: UNAUTHENTICATED or PERMISSION_DENIED. `method`: as the caller sent it.
  void OnRefused(absl::string_view method, const absl::Status& why);

 private:
  // Of one kind of refusal.
  struct Notice {
    std::chrono::steady_clock::time_point next;
    int64_t unsaid = 0;
  };

  // "10.0.0.7:51234".
  std::string Callers();

  const TelemetryPtr telemetry_;
  const std::chrono::steady_clock::duration log_interval_;

  std::mutex mutex_;
  // Protected by mutex_. By descriptor: who is at the other end. Those that were closed leave when the next call is
  // refused: there are at most as many as there may be descriptors.
  std::map<int, std::string> peers_;
  std::map<absl::StatusCode, Notice> notices_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_REFUSED_CALLS_H_
