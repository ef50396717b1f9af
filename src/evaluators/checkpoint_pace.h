// When checkpoints are written.
#ifndef LANISTA_SRC_EVALUATORS_CHECKPOINT_PACE_H_
#define LANISTA_SRC_EVALUATORS_CHECKPOINT_PACE_H_

#include <chrono>

namespace lanista {

// A checkpoint is due once `interval` has passed since the last one; at the end of an epoch sooner, as long as
// checkpoints take no more than a fiftieth of the time: short epochs would otherwise wait for the disk most of the
// time. Plain arithmetic on the times that are handed in. Used by one thread.
class CheckpointPace {
 public:
  using Clock = std::chrono::steady_clock;

  // Training begins at `now`. An interval of zero: never.
  CheckpointPace(Clock::duration interval, Clock::time_point now) : interval_(interval), last_(now) {}

  // Whether one is to be written at `now`, between two batches or at the end of an epoch.
  bool Due(Clock::time_point now, bool epoch_ends) const;

  // One was written, or could not be, from `begin` to `end`.
  void Written(Clock::time_point begin, Clock::time_point end);

 private:
  const Clock::duration interval_;
  // Training goes on, or began.
  Clock::time_point last_;
  // What the last one took. At first a guess, which keeps trials of a moment from waiting for a disk at all.
  Clock::duration cost_ = std::chrono::milliseconds(5);
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_CHECKPOINT_PACE_H_
