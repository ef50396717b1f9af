// StrategyActor: a strategy behind messages. A user's strategy may throw and may compute for long; neither is anybody
// else's trouble.
#ifndef LANISTA_ACTORS_STRATEGY_H_
#define LANISTA_ACTORS_STRATEGY_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actors/interfaces.h"
#include "src/strategies/strategy.h"

namespace lanista {

// What a strategy's factory throws is an error. `space` outlives the strategy.
StrategyRegistry::Result MakeStrategyGuarded(const v1::StrategyConfig& config, const Space& space, uint64_t seed);

// What a strategy throws is an error.
absl::StatusOr<Strategy::Proposal> AskGuarded(Strategy& strategy, int count);

// What a strategy hears of a model's outcome: metrics turned by `objective` so that larger is better.
Observation ObservationOf(const v1::TellRequest& tell, v1::Objective objective);

struct StrategyState {
  static inline const char* name = "strategy";

  // What Tell threw. The strategy is not called any more, and the next Ask is answered with it.
  absl::Status broken;
};

// Owns `strategy` (and with it the space that it was made for). Spawn it detached where an Ask may take long.
StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState> self,
                                              std::shared_ptr<Strategy> strategy, v1::Objective objective);

}  // namespace lanista

#endif  // LANISTA_ACTORS_STRATEGY_H_
