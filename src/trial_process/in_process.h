// Both halves of a trial process within this process (isolation: IN_PROCESS): for tests and debugging.
#ifndef LANISTA_SRC_TRIAL_PROCESS_IN_PROCESS_H_
#define LANISTA_SRC_TRIAL_PROCESS_IN_PROCESS_H_

#include <memory>

#include "src/trial_process/channel.h"
#include "src/trial_process/request_handler.h"

namespace lanista {

// A channel whose other side is a thread of this process. A thread cannot be killed, so the destructor waits for a
// trial that does not check `canceled`.
std::unique_ptr<TrialChannel> MakeInProcessChannel(MakeRequestHandler make_handler);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_IN_PROCESS_H_
