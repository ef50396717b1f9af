// Limits that can be checked before a model trains, for strategies.
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

// Decides which samples may be proposed. Used by one thread.
class KnownLimits {
 public:
  explicit KnownLimits(LimitsOfSamples limits) : limits_(std::move(limits)) {}
  // Uses the context's limits alone.
  explicit KnownLimits(const StrategyContext& context)
      : KnownLimits(LimitsOfSamples{context.violation, context.describe_violation}) {}

  // Whether there are such limits.
  bool any() const { return static_cast<bool>(limits_.violation); }

  // Whether the sample keeps them, as far as that is known.
  bool Allow(const v1::Sample& sample);

  // How often Allow refused.
  int64_t refused() const { return refused_; }

  // Describes, for people, the refused sample that was nearest to the limits: "params 150 (at most 100)". REQUIRES:
  // refused() > 0.
  std::string DescribeNearest() const;

  // A FAILED_PRECONDITION error, which says how far the nearest refused sample is from the limits. REQUIRES: refused()
  // > 0.
  absl::Status NothingAllowed() const;

 private:
  const LimitsOfSamples limits_;
  int64_t refused_ = 0;
  double least_violation_ = 0;
  v1::Sample nearest_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_KNOWN_LIMITS_H_
