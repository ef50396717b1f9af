// Strategies propose models and learn from their results: a class of one's own (docs/strategies.md).
//
//   class Backwards : public lanista::Strategy { ... };       // Ask and Tell
//
//   lanista::RegisterStrategy<Backwards>("backwards");        // in main, before lanista::Init
//
// and in the configuration: strategy { custom { name: "backwards" } }. The same at namespace scope:
// LANISTA_REGISTER(strategy, "backwards", MakeBackwards). A strategy runs in the process of the
// experiment, which owns it, used by one thread at a time, and is deterministic: Resume replays its calls. What its
// factory returns as an error is told when the experiment starts; what Ask returns as an error, and what either call
// throws, fails the experiment, with its text as the reason. Proposals keeps a strategy from proposing a model twice.
#ifndef LANISTA_INCLUDE_LANISTA_STRATEGY_H_
#define LANISTA_INCLUDE_LANISTA_STRATEGY_H_

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "src/api/register.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"

namespace lanista {

// Registers `make`, an absl::StatusOr<std::unique_ptr<Strategy>>(const Params&, const StrategyContext&), for
// `strategy { custom { name: NAME } }`. REQUIRES: before lanista::Init.
template <typename Make>
void RegisterStrategy(const std::string& name, Make make) {
  api::Register<StrategyRegistry>("strategy", name, std::move(make));
}

// Registers a class of strategies, whose constructor takes (const Params&, const StrategyContext&), one of both, or
// nothing.
template <typename MyStrategy>
void RegisterStrategy(const std::string& name) {
  static_assert(std::is_base_of_v<Strategy, MyStrategy>, "a strategy derives from lanista::Strategy");
  RegisterStrategy(name, [](const Params& params, const StrategyContext& context) -> StrategyRegistry::Result {
    return api::Construct<MyStrategy>(params, context);
  });
}

}  // namespace lanista

#endif  // LANISTA_INCLUDE_LANISTA_STRATEGY_H_
