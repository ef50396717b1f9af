#include "actors/strategy.h"

#include <exception>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "spdlog/spdlog.h"
#include "src/base/status.h"

namespace lanista {
namespace {

template <typename Function>
auto Guard(Function&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the strategy threw: ", error.what()));
  } catch (...) {
    return absl::InternalError("the strategy threw something that is no std::exception");
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<GuardedStrategy>> GuardedStrategy::Create(const v1::StrategyConfig& config,
                                                                         v1::SpaceSpec spec, uint64_t seed,
                                                                         std::optional<int> max_models) {
  LANISTA_ASSIGN_OR_RETURN(Space space, Space::FromProto(std::move(spec)));
  // First the space, where it stays.
  auto guarded = std::make_shared<GuardedStrategy>(std::move(space), nullptr);
  StrategyContext context(guarded->space_, seed);
  context.max_models = max_models;
  LANISTA_ASSIGN_OR_RETURN(guarded->strategy_, Guard([&]() -> StrategyRegistry::Result {
                             return StrategyRegistry::Get().Create(config, context);
                           }));
  return guarded;
}

absl::StatusOr<Strategy::Proposal> GuardedStrategy::Ask(int count) {
  absl::StatusOr<Strategy::Proposal> proposal = Guard([&] { return strategy_->Ask(count); });
  if (!proposal.ok()) return proposal;
  if (static_cast<int>(proposal->samples.size()) > count) {
    return absl::InternalError(absl::StrCat("the strategy proposed ", proposal->samples.size(),
                                            " samples where at most ", count, " were asked for"));
  }
  for (const v1::Sample& sample : proposal->samples) {
    if (const absl::Status checked = space_.Check(sample); !checked.ok()) {
      return absl::InternalError(
          absl::StrCat("the strategy proposed what is no model of the space: ", checked.message()));
    }
  }
  return proposal;
}

absl::Status GuardedStrategy::Tell(const v1::Sample& sample, const Observation& observation) {
  return Guard([&] {
    strategy_->Tell(sample, observation);
    return absl::OkStatus();
  });
}

Observation ObservationOf(const v1::TellRequest& tell, v1::Objective objective) {
  Observation observation;
  observation.outcome = tell.outcome();
  if (tell.has_value()) observation.value = objective == v1::MINIMIZE ? -tell.value() : tell.value();
  return observation;
}

StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState> self,
                                              std::shared_ptr<GuardedStrategy> strategy, v1::Objective objective) {
  return {
      [self, strategy](const v1::AskRequest& request) {
        v1::AskReply reply;
        const absl::Status& broken = self->state.broken;
        absl::StatusOr<Strategy::Proposal> proposal = broken.ok() ? strategy->Ask(request.count()) : broken;
        if (!proposal.ok()) {
          *reply.mutable_error() = StatusToProto(proposal.status());
          return reply;
        }
        for (v1::Sample& sample : proposal->samples) *reply.add_samples() = std::move(sample);
        reply.set_exhausted(proposal->exhausted);
        return reply;
      },
      [self, strategy, objective](const v1::TellRequest& tell) {
        absl::Status& broken = self->state.broken;
        if (!broken.ok()) return;
        broken = strategy->Tell(tell.sample(), ObservationOf(tell, objective));
        if (!broken.ok()) spdlog::error("told of model {}, {}", tell.model(), std::string(broken.message()));
      },
  };
}

}  // namespace lanista
