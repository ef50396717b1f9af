// Durations as CAF's clock takes them.
#ifndef LANISTA_ACTORS_DELAY_H_
#define LANISTA_ACTORS_DELAY_H_

#include <algorithm>
#include <chrono>

#include "absl/time/time.h"
#include "google/protobuf/duration.pb.h"

namespace lanista {

// A user's duration, as CAF's clock can wait for it (delayed_send): at least zero, at most a hundred years. The clock
// counts nanoseconds in 64 bits, which hold 292 years: what is longer would be over at once.
inline std::chrono::milliseconds Delay(absl::Duration duration) {
  constexpr absl::Duration kLongest = absl::Hours(24 * 365 * 100);
  return absl::ToChronoMilliseconds(std::clamp(duration, absl::ZeroDuration(), kLongest));
}

inline std::chrono::milliseconds Delay(const google::protobuf::Duration& duration) {
  return Delay(absl::Seconds(duration.seconds()) + absl::Nanoseconds(duration.nanos()));
}

}  // namespace lanista

#endif  // LANISTA_ACTORS_DELAY_H_
