#include "actors/strategy.h"

#include <string>
#include <utility>

#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/base/logging.h"
#include "src/base/status.h"

namespace lanista {

StrategyActor::behavior_type StrategyBehavior(StrategyActor::stateful_pointer<StrategyState> self,
                                              std::shared_ptr<GuardedStrategy> strategy, std::string experiment) {
  return {
      [self, strategy](const v1::AskRequest& request) -> caf::result<v1::AskReply> {
        v1::AskReply reply;
        const absl::Status& broken = self->state.broken;
        absl::StatusOr<Strategy::Proposal> proposal = broken.ok() ? strategy->Ask(request.count()) : broken;
        if (!proposal.ok()) {
          *reply.mutable_error() = StatusToProto(proposal.status());
          return reply;
        }
        // Between the parts of a long search the actor can hear that it is to end.
        if (proposal->searching) return self->delegate(StrategyActor(self), request);
        for (v1::Sample& sample : proposal->samples) *reply.add_samples() = std::move(sample);
        reply.set_exhausted(proposal->exhausted);
        return reply;
      },
      [self, strategy, experiment = std::move(experiment)](const v1::TellRequest& tell) {
        absl::Status& broken = self->state.broken;
        if (!broken.ok()) return;
        broken = strategy->Tell(tell);
        if (broken.ok()) return;
        LogError("{}told of model {}, {}", LogTag(experiment), tell.model(), std::string(broken.message()));
      },
  };
}

}  // namespace lanista
