// Limits that are known before a model trains, as strategies meet them.
#ifndef LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_
#define LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "protos/space.pb.h"
#include "src/strategies/strategy.h"

namespace lanista {

// Limits that can be checked before a model trains: StrategyContext's functions, both or none.
struct LimitsOfSamples {
  std::function<std::optional<double>(const v1::Sample&)> violation;
  std::function<std::string(const v1::Sample&)> describe;
};

// Which samples may be proposed. Used by one thread.
class KnownLimits {
 public:
  explicit KnownLimits(LimitsOfSamples limits) : limits_(std::move(limits)) {}
  // Uses the context's limits alone.
  explicit KnownLimits(const StrategyContext& context)
      : KnownLimits(LimitsOfSamples{context.violation, context.describe_violation}) {}

  // Whether there are any.
  bool any() const { return static_cast<bool>(limits_.violation); }

  // Whether the sample keeps them, as far as that is known.
  bool Allow(const v1::Sample& sample);

  // How often Allow refused.
  int64_t refused() const { return refused_; }

  // What the nearest of the samples that were refused has, for people: "params 150 (at most 100)".
  // REQUIRES: refused() > 0.
  std::string DescribeNearest() const;

  // FAILED_PRECONDITION that says how far the nearest of the samples that were refused is from the limits.
  // REQUIRES: refused() > 0.
  absl::Status NothingAllowed() const;

 private:
  const LimitsOfSamples limits_;
  int64_t refused_ = 0;
  double least_violation_ = 0;
  v1::Sample nearest_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_
