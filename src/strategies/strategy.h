// Strategies propose samples of a space and learn from outcomes. Plain objects: no actors, no clocks, no torch.
#ifndef LANISTA_SRC_STRATEGIES_STRATEGY_H_
#define LANISTA_SRC_STRATEGIES_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/space.pb.h"
#include "protos/trial.pb.h"
#include "src/base/registry.h"
#include "src/space/space.h"

namespace lanista {

// How a proposed model fared.
struct Observation {
  v1::Outcome outcome = v1::OUTCOME_UNSPECIFIED;
  // `default`, turned so that larger is better; absent where the model failed or was canceled.
  std::optional<double> value;
};

// Proposes models. Used by one thread at a time. Deterministic: the same calls in the same order give the same samples
// (resume replays them), all randomness comes from the seed handed to the factory.
class Strategy {
 public:
  virtual ~Strategy() = default;

  struct Proposal {
    // At most as many as asked for; fewer while the strategy waits for outcomes.
    std::vector<v1::Sample> samples;
    // Nothing will ever come again.
    bool exhausted = false;
  };

  // REQUIRES: count >= 1.
  virtual absl::StatusOr<Proposal> Ask(int count) = 0;

  // The outcome of a sample that Ask returned; exactly once for each.
  virtual void Tell(const v1::Sample& sample, const Observation& observation) = 0;
};

// Factories take (config, the space, the strategy's seed). The space outlives the strategy.
using StrategyRegistry = Registry<Strategy, const Space&, uint64_t>;

}  // namespace lanista

// Registers a strategy of the user's own, for `strategy { custom { name: "NAME" params { ... } } }`:
//
//   absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeMine(const lanista::v1::Custom& config,
//                                                               const lanista::Space& space, uint64_t seed);
//   LANISTA_REGISTER_STRATEGY("mine", MakeMine);
#define LANISTA_REGISTER_STRATEGY(name, make) LANISTA_REGISTER_CUSTOM(::lanista::StrategyRegistry, name, make)

#endif  // LANISTA_SRC_STRATEGIES_STRATEGY_H_
