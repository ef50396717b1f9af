#include "src/strategies/known_limits.h"

#include "absl/strings/str_cat.h"
#include "src/goals/goals.h"

namespace lanista {

bool KnownLimits::Allow(const v1::Sample& sample) {
  if (!limits_.violation) return true;
  const double violation = limits_.violation(sample).value_or(0);
  if (violation <= 0) return true;
  if (refused_++ == 0 || violation < least_violation_) {
    least_violation_ = violation;
    nearest_ = sample;
  }
  return false;
}

std::string KnownLimits::DescribeNearest() const {
  return limits_.describe ? limits_.describe(nearest_) : absl::StrCat("a violation of ", least_violation_);
}

absl::Status KnownLimits::NothingAllowed() const {
  return absl::FailedPreconditionError(NothingWithinLimits(refused_, DescribeNearest()));
}

}  // namespace lanista
