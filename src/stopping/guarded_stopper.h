// Protects the caller from a user's stopper, which may throw.
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

// A stopper that is called with messages. Used by one thread at a time.
class GuardedStopper {
 public:
  // Returns an error if the factory throws.
  static absl::StatusOr<std::shared_ptr<GuardedStopper>> Create(const v1::EarlyStoppingConfig& config,
                                                                const StoppingContext& context);
  GuardedStopper(std::unique_ptr<Stopper> stopper, v1::ObjectiveConfig::Goal objective)
      : stopper_(std::move(stopper)), objective_(objective) {}

  // Returns an error if the stopper throws. The text of its verdict becomes valid UTF-8, and is shortened if it is
  // long.
  absl::StatusOr<v1::StopVerdict> Report(const v1::StepReport& report);
  absl::Status Ended(const v1::TellRequest& ended);

  // Repeats a call that an earlier stopper with the same configuration got. FAILED_PRECONDITION, with both verdicts:
  // this stopper decides differently.
  absl::Status Replay(const v1::StoppingCall& call);

 private:
  const std::unique_ptr<Stopper> stopper_;
  const v1::ObjectiveConfig::Goal objective_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_GUARDED_STOPPER_H_
