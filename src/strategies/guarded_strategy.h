// Protects the caller from a user's strategy, which may throw, or propose samples that are not models of the space.
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

// A strategy with its space and with the goals by which its models are judged. Used by one thread at a time.
class GuardedStrategy {
 public:
  // The strategy of `config`, the configuration that the experiment was created with, for the space `spec`. Models of
  // `initial` come first. INVALID_ARGUMENT names the field; what the factory throws is an error.
  static absl::StatusOr<std::shared_ptr<GuardedStrategy>> Create(const v1::ExperimentConfig& config, v1::SpaceSpec spec,
                                                                 uint64_t seed, LimitsOfSamples limits = {});
  // Takes a strategy that somebody else has made for this space.
  GuardedStrategy(Space space, std::unique_ptr<Strategy> strategy, Goals goals = Goals(v1::ExperimentConfig()))
      : space_(std::move(space)), goals_(std::move(goals)), strategy_(std::move(strategy)) {}

  // Returns an error if the strategy throws, returns more samples than it was asked for, or returns a sample that does
  // not belong to the space.
  absl::StatusOr<Strategy::Proposal> Ask(int count);
  // Returns an error if the strategy throws.
  absl::Status Tell(const v1::TellRequest& tell);

  // Repeats a call that an earlier strategy with the same configuration, space and seed got. FAILED_PRECONDITION, with
  // both answers: this strategy answers an Ask differently.
  absl::Status Replay(const v1::StrategyCall& call);

 private:
  const Space space_;
  const Goals goals_;
  // May refer to space_. Null while Create makes it.
  std::unique_ptr<Strategy> strategy_;
};

// Converts a model's outcome to what strategies get: metrics with signs that make larger values better.
Observation ObservationOf(const v1::TellRequest& tell, const Goals& goals);

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_GUARDED_STRATEGY_H_
