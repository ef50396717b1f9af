#include "actors/strategy.h"

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/base/status.h"

namespace lanista {
namespace {

// A user's strategy may throw.
absl::StatusOr<Strategy::Proposal> Ask(Strategy& strategy, int count) {
  try {
    return strategy.Ask(count);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("the strategy threw: ", error.what()));
  }
}

}  // namespace

StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState>,
                                              std::shared_ptr<Strategy> strategy, v1::Objective objective) {
  return {
      [strategy](const v1::AskRequest& request) {
        v1::AskReply reply;
        absl::StatusOr<Strategy::Proposal> proposal = Ask(*strategy, request.count());
        if (!proposal.ok()) {
          *reply.mutable_error() = StatusToProto(proposal.status());
          return reply;
        }
        for (v1::Sample& sample : proposal->samples) *reply.add_samples() = std::move(sample);
        reply.set_exhausted(proposal->exhausted);
        return reply;
      },
      [strategy, objective](const v1::TellRequest& tell) {
        Observation observation;
        observation.outcome = tell.outcome();
        if (tell.has_value()) observation.value = objective == v1::MINIMIZE ? -tell.value() : tell.value();
        strategy->Tell(tell.sample(), observation);
      },
  };
}

}  // namespace lanista
