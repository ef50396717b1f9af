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

StrategyRegistry::Result MakeStrategyGuarded(const v1::StrategyConfig& config, const Space& space, uint64_t seed) {
  return Guard([&] { return StrategyRegistry::Get().Create(config, space, seed); });
}

absl::StatusOr<Strategy::Proposal> AskGuarded(Strategy& strategy, int count) {
  return Guard([&] { return strategy.Ask(count); });
}

Observation ObservationOf(const v1::TellRequest& tell, v1::Objective objective) {
  Observation observation;
  observation.outcome = tell.outcome();
  if (tell.has_value()) observation.value = objective == v1::MINIMIZE ? -tell.value() : tell.value();
  return observation;
}

StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState> self,
                                              std::shared_ptr<Strategy> strategy, v1::Objective objective) {
  return {
      [self, strategy](const v1::AskRequest& request) {
        v1::AskReply reply;
        const absl::Status& broken = self->state.broken;
        absl::StatusOr<Strategy::Proposal> proposal = broken.ok() ? AskGuarded(*strategy, request.count()) : broken;
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
        broken = Guard([&] {
          strategy->Tell(tell.sample(), ObservationOf(tell, objective));
          return absl::OkStatus();
        });
        if (!broken.ok()) spdlog::error("told of model {}, {}", tell.model(), std::string(broken.message()));
      },
  };
}

}  // namespace lanista
