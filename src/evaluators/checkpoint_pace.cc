#include "src/evaluators/checkpoint_pace.h"

namespace lanista {
namespace {

// At the end of an epoch: seconds of training for each second of writing.
constexpr int kTimesItsCost = 50;

}  // namespace

bool CheckpointPace::Due(Clock::time_point now, bool epoch_ends) const {
  if (interval_ == Clock::duration::zero()) return false;
  const Clock::duration passed = now - last_;
  return passed >= interval_ || (epoch_ends && passed >= kTimesItsCost * cost_);
}

void CheckpointPace::Written(Clock::time_point begin, Clock::time_point end) {
  cost_ = end - begin;
  last_ = end;
}

}  // namespace lanista
