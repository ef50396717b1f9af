// StopperActor: a stopper behind messages. A user's stopper may throw and may compute for long; neither is anybody
// else's trouble.
#ifndef LANISTA_ACTORS_STOPPER_H_
#define LANISTA_ACTORS_STOPPER_H_

#include <memory>

#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "src/stopping/guarded_stopper.h"

namespace lanista {

struct StopperState {
  static inline const char* name = "stopper";

  // What the stopper threw. It is not called any more.
  absl::Status broken;
};

// Spawn it detached where a verdict may take long.
StopperActor::behavior_type StopperBehavior(StopperActor::stateful_pointer<StopperState> self,
                                            std::shared_ptr<GuardedStopper> stopper);

}  // namespace lanista

#endif  // LANISTA_ACTORS_STOPPER_H_
