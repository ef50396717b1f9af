// A strategy that cannot harm its caller: a user's may throw, or propose what is no model of the space.
#ifndef LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_
#define LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/goals/goals.h"
#include "src/space/space.h"
#include "src/strategies/known_limits.h"
#include "src/strategies/strategy.h"

namespace lanista {

// A strategy, the space that it proposes models of, and what they are judged by. Used by one thread at a time.
class GuardedStrategy {
 public:
  // The strategy of `config`, the configuration that the experiment was created with, for the space `spec`. Models of
  // `initial` come first. INVALID_ARGUMENT names the field; what the factory throws is an error.
  static absl::StatusOr<std::shared_ptr<GuardedStrategy>> Create(const v1::ExperimentConfig& config, v1::SpaceSpec spec,
                                                                 uint64_t seed, LimitsOfSamples limits = {});
  // Of a strategy that was made for this space elsewhere.
  GuardedStrategy(Space space, std::unique_ptr<Strategy> strategy, Goals goals = Goals(v1::ExperimentConfig()))
      : space_(std::move(space)), goals_(std::move(goals)), strategy_(std::move(strategy)) {}

  // What the strategy throws is an error, and so are more samples than asked for and samples that are none of the
  // space.
  absl::StatusOr<Strategy::Proposal> Ask(int count);
  // What the strategy throws is an error.
  absl::Status Tell(const v1::TellRequest& tell);

  // Makes a call again that an earlier strategy of the same configuration, space and seed was given. Returns
  // FAILED_PRECONDITION, with both answers, where this one answers an Ask otherwise.
  absl::Status Replay(const v1::StrategyCall& call);

 private:
  const Space space_;
  const Goals goals_;
  // May refer to space_. Null while Create makes it.
  std::unique_ptr<Strategy> strategy_;
};

// What a strategy hears of a model's outcome: metrics turned by the objectives so that larger is better.
Observation ObservationOf(const v1::TellRequest& tell, const Goals& goals);

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_
