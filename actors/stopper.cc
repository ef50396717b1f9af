#include "actors/stopper.h"

#include <utility>

#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/base/status.h"

namespace lanista {
namespace {

v1::StopVerdict Failed(const absl::Status& why) {
  v1::StopVerdict verdict;
  *verdict.mutable_error() = StatusToProto(why);
  return verdict;
}

}  // namespace

StopperActor::behavior_type StopperBehavior(StopperActor::stateful_pointer<StopperState> self,
                                            std::shared_ptr<GuardedStopper> stopper) {
  return {
      [self, stopper](const v1::StepReport& report) {
        absl::Status& broken = self->state.broken;
        absl::StatusOr<v1::StopVerdict> verdict = v1::StopVerdict();
        if (broken.ok()) verdict = stopper->Report(report);
        if (!verdict.ok()) broken = verdict.status();
        return broken.ok() ? *std::move(verdict) : Failed(broken);
      },
      [self, stopper](const v1::TellRequest& ended) {
        absl::Status& broken = self->state.broken;
        if (broken.ok()) broken = stopper->Ended(ended);
        return broken.ok() ? v1::StopVerdict() : Failed(broken);
      },
  };
}

}  // namespace lanista
