// StrategyActor: a strategy behind messages. A user's strategy may throw and may compute for long; neither is anybody
// else's trouble.
#ifndef LANISTA_ACTORS_STRATEGY_H_
#define LANISTA_ACTORS_STRATEGY_H_

#include <memory>

#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "src/strategies/guarded_strategy.h"

namespace lanista {

struct StrategyState {
  static inline const char* name = "strategy";

  // What Tell threw. The strategy is not called any more, and the next Ask is answered with it.
  absl::Status broken;
};

// Spawn it detached where an Ask may take long.
StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState> self,
                                              std::shared_ptr<GuardedStrategy> strategy, std::string experiment);

}  // namespace lanista

#endif  // LANISTA_ACTORS_STRATEGY_H_
