// How far the head's clock is ahead of a node's.
#ifndef LANISTA_ACTORS_CLOCK_OFFSET_H_
#define LANISTA_ACTORS_CLOCK_OFFSET_H_

#include <algorithm>
#include <cstddef>
#include <deque>

#include "absl/time/time.h"

namespace lanista {

// The node says what time it is, again and again. That takes a while to arrive, on a bad link seconds, which look like
// a clock that is behind. So of the last few differences the least one counts: it is the one with the least delay.
class ClockOffset {
 public:
  // Clocks that differ less are as good as equal: nothing is corrected.
  static constexpr absl::Duration kTolerance = absl::Seconds(1);

  // What the head's clock showed when the node's time arrived, minus that time.
  void Add(absl::Duration difference) {
    last_.push_back(difference);
    if (last_.size() > kDifferences) last_.pop_front();
  }

  // Zero where nothing is to be corrected.
  absl::Duration Get() const {
    if (last_.empty()) return absl::ZeroDuration();
    const absl::Duration least = *std::min_element(last_.begin(), last_.end());
    return absl::AbsDuration(least) <= kTolerance ? absl::ZeroDuration() : least;
  }

  // One difference alone may be all delay.
  bool is_certain() const { return last_.size() > 1; }

 private:
  // A clock that is set right is believed after so many beats, which take less than half a minute.
  static constexpr size_t kDifferences = 8;

  std::deque<absl::Duration> last_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_CLOCK_OFFSET_H_
