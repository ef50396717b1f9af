// The trial process's main function.
#ifndef LANISTA_SRC_TRIAL_TRIAL_MAIN_H_
#define LANISTA_SRC_TRIAL_TRIAL_MAIN_H_

#include <memory>

#include "src/base/trial_channel.h"

namespace lanista {

// Serves the socket kTrialProcessSocket until Shutdown or its end; returns the exit status. A reader thread takes
// requests, this thread executes them.
int TrialMain();

// The same on a thread of this process (isolation: IN_PROCESS): for tests and debugging. A thread cannot be killed, so
// the destructor waits for a trial that does not check `canceled`.
std::unique_ptr<TrialChannel> MakeInProcessTrial();

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_TRIAL_MAIN_H_
