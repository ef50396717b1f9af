#include "src/stopping/guarded_stopper.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/bounded_message.h"
#include "src/base/guard.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/goals/goals.h"

namespace lanista {
namespace {

constexpr char kWho[] = "the stopper";

std::string Text(const v1::StopVerdict& verdict) {
  return verdict.stop() ? absl::StrCat("it stops (", verdict.because(), ")") : "it goes on";
}

}  // namespace

absl::StatusOr<std::shared_ptr<GuardedStopper>> GuardedStopper::Create(const v1::EarlyStoppingConfig& config,
                                                                       const StoppingContext& context) {
  LANISTA_ASSIGN_OR_RETURN(std::unique_ptr<Stopper> stopper, GuardCall(kWho, [&]() -> StopperRegistry::Result {
                             return StopperRegistry::Get().Create(config, context);
                           }));
  return std::make_shared<GuardedStopper>(std::move(stopper), context.objective);
}

absl::StatusOr<v1::StopVerdict> GuardedStopper::Report(const v1::StepReport& report) {
  return GuardCall(kWho, [&]() -> absl::StatusOr<v1::StopVerdict> {
    const Stopper::Verdict verdict =
        stopper_->Report(report.model(), report.step(), Turned(report.value(), objective_));
    v1::StopVerdict message;
    message.set_stop(verdict.stop);
    if (verdict.stop) message.set_because(ToUtf8(BoundedMessage(verdict.because)));
    return message;
  });
}

absl::Status GuardedStopper::Ended(const v1::TellRequest& ended) {
  return GuardCall(kWho, [&] {
    Observation observation;
    observation.outcome = ended.outcome();
    if (ended.has_value()) observation.value = Turned(ended.value(), objective_);
    observation.steps = ended.steps();
    stopper_->Ended(ended.model(), observation);
    return absl::OkStatus();
  });
}

absl::Status GuardedStopper::Replay(const v1::StoppingCall& call) {
  if (call.has_ended()) return Ended(call.ended());
  const v1::StopVerdict& recorded = call.report().verdict();
  LANISTA_ASSIGN_OR_RETURN(const v1::StopVerdict verdict, Report(call.report().report()));
  if (verdict.stop() == recorded.stop() && verdict.because() == recorded.because()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("call ", call.sequence(), " of the stopper, on step ", call.report().report().step(), " of model ",
                   call.report().report().model(), ", is decided otherwise than it was: ", Text(verdict), " here, ",
                   Text(recorded), " in the journal; the stopper's code must be the one that began the experiment"));
}

}  // namespace lanista
