// Limits that are known before a model trains, as strategies meet them.
#ifndef LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_
#define LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "protos/space.pb.h"
#include "src/strategies/strategy.h"

namespace lanista {

// Which samples a strategy may propose. Used by one thread.
class KnownLimits {
 public:
  // Uses the context's limits alone.
  explicit KnownLimits(const StrategyContext& context)
      : violation_(context.violation), describe_(context.describe_violation) {}

  // Whether there are any.
  bool any() const { return static_cast<bool>(violation_); }

  // Whether the sample keeps them, as far as that is known.
  bool Allow(const v1::Sample& sample);

  // How often Allow refused.
  int64_t refused() const { return refused_; }

  // FAILED_PRECONDITION that says how far the nearest of the samples that were refused is from the limits.
  // REQUIRES: refused() > 0.
  absl::Status NothingAllowed() const;

 private:
  const std::function<std::optional<double>(const v1::Sample&)> violation_;
  const std::function<std::string(const v1::Sample&)> describe_;
  int64_t refused_ = 0;
  double least_violation_ = 0;
  v1::Sample nearest_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_
