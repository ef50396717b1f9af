// When checkpoints are written.
#ifndef LANISTA_SRC_EVALUATORS_CHECKPOINT_PACE_H_
#define LANISTA_SRC_EVALUATORS_CHECKPOINT_PACE_H_

#include <chrono>

namespace lanista {

// A checkpoint is due once `interval` has passed since the last one. At the end of an epoch it is due earlier, if
// checkpoints then still take at most a fiftieth of the time; without that bound, training with short epochs would
// mostly wait for the disk. Plain arithmetic on the times that callers pass. Used by one thread.
class CheckpointPace {
 public:
  using Clock = std::chrono::steady_clock;

  // Training begins at `now`. If `interval` is zero, no checkpoint is ever due.
  CheckpointPace(Clock::duration interval, Clock::time_point now) : interval_(interval), last_(now) {}

  // Whether a checkpoint is due at `now`, between two batches or at the end of an epoch.
  bool Due(Clock::time_point now, bool epoch_ends) const;

  // Records that writing a checkpoint took from `begin` to `end`, whether it succeeded or not.
  void Written(Clock::time_point begin, Clock::time_point end);

 private:
  const Clock::duration interval_;
  // When training began, or when it went on after the last checkpoint.
  Clock::time_point last_;
  // How long the last checkpoint took. At first a guess, so that very short trials do not wait for the disk at all.
  Clock::duration cost_ = std::chrono::milliseconds(5);
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_CHECKPOINT_PACE_H_
