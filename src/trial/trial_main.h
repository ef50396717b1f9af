// The trial process's main function.
#ifndef LANISTA_SRC_TRIAL_TRIAL_MAIN_H_
#define LANISTA_SRC_TRIAL_TRIAL_MAIN_H_

#include <memory>

#include "src/trial_process/channel.h"

namespace lanista {

// Serves as a trial process (ServeTrialProcess) with a TrialRunner; returns the exit status.
int TrialMain();

// The same on a thread of this process (MakeInProcessChannel).
std::unique_ptr<TrialChannel> MakeInProcessTrial();

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_TRIAL_MAIN_H_
