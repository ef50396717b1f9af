// StrategyActor: a strategy behind messages.
#ifndef LANISTA_ACTORS_STRATEGY_H_
#define LANISTA_ACTORS_STRATEGY_H_

#include <memory>

#include "actors/interfaces.h"
#include "src/strategies/strategy.h"

namespace lanista {

struct StrategyState {
  static inline const char* name = "strategy";
};

// Owns `strategy` (and with it the space that it was made for). `objective` turns metrics so that larger is better.
StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState> self,
                                              std::shared_ptr<Strategy> strategy, v1::Objective objective);

}  // namespace lanista

#endif  // LANISTA_ACTORS_STRATEGY_H_
