#include "src/strategies/known_limits.h"

#include "absl/strings/str_cat.h"
#include "src/goals/goals.h"

namespace lanista {

bool KnownLimits::Allow(const v1::Sample& sample) {
  if (!violation_) return true;
  const double violation = violation_(sample).value_or(0);
  if (violation <= 0) return true;
  if (refused_++ == 0 || violation < least_violation_) {
    least_violation_ = violation;
    nearest_ = sample;
  }
  return false;
}

absl::Status KnownLimits::NothingAllowed() const {
  return absl::FailedPreconditionError(NothingWithinLimits(
      refused_, describe_ ? describe_(nearest_) : absl::StrCat("a violation of ", least_violation_)));
}

}  // namespace lanista
