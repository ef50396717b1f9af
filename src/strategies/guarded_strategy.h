// A strategy that cannot harm its caller: a user's may throw, or propose what is no model of the space.
#ifndef LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_
#define LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/space/space.h"
#include "src/strategies/strategy.h"

namespace lanista {

// A strategy and the space that it proposes models of. Used by one thread at a time.
class GuardedStrategy {
 public:
  // Takes over `spec`. `max_models` is what the experiment was created with; those in `initial`, models of the space,
  // are among them and come first. What the factory throws is an error.
  static absl::StatusOr<std::shared_ptr<GuardedStrategy>> Create(const v1::StrategyConfig& config, v1::SpaceSpec spec,
                                                                 uint64_t seed, std::optional<int> max_models,
                                                                 std::vector<v1::Sample> initial = {});
  // Of a strategy that was made for this space elsewhere.
  GuardedStrategy(Space space, std::unique_ptr<Strategy> strategy)
      : space_(std::move(space)), strategy_(std::move(strategy)) {}

  // What the strategy throws is an error, and so are more samples than asked for and samples that are none of the
  // space.
  absl::StatusOr<Strategy::Proposal> Ask(int count);
  // What the strategy throws is an error.
  absl::Status Tell(const v1::Sample& sample, const Observation& observation);

  // Makes a call again that an earlier strategy of the same configuration, space and seed was given. Returns
  // FAILED_PRECONDITION, with both answers, where this one answers an Ask otherwise.
  absl::Status Replay(const v1::StrategyCall& call, v1::Objective objective);

 private:
  const Space space_;
  // May refer to space_. Null while Create makes it.
  std::unique_ptr<Strategy> strategy_;
};

// What a strategy hears of a model's outcome: metrics turned by `objective` so that larger is better.
Observation ObservationOf(const v1::TellRequest& tell, v1::Objective objective);

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_
