// A stopper that cannot harm its caller: a user's may throw.
#ifndef LANISTA_SRC_STOPPING_GUARDED_STOPPER_H_
#define LANISTA_SRC_STOPPING_GUARDED_STOPPER_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/stopping/stopper.h"

namespace lanista {

// A stopper behind messages. Used by one thread at a time.
class GuardedStopper {
 public:
  // What the factory throws is an error.
  static absl::StatusOr<std::shared_ptr<GuardedStopper>> Create(const v1::EarlyStoppingConfig& config,
                                                                const StoppingContext& context);
  GuardedStopper(std::unique_ptr<Stopper> stopper, v1::Objective objective)
      : stopper_(std::move(stopper)), objective_(objective) {}

  // What the stopper throws is an error; what it says is made UTF-8, and not longer than anyone reads.
  absl::StatusOr<v1::StopVerdict> Report(const v1::StepReport& report);
  absl::Status Ended(const v1::TellRequest& ended);

  // Makes a call again that an earlier stopper of the same configuration was given. Returns FAILED_PRECONDITION, with
  // both verdicts, where this one decides otherwise.
  absl::Status Replay(const v1::StoppingCall& call);

 private:
  const std::unique_ptr<Stopper> stopper_;
  const v1::Objective objective_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_GUARDED_STOPPER_H_
