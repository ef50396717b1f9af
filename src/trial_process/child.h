// The child's half of a trial process; parent.h has the other one.
#ifndef LANISTA_SRC_TRIAL_PROCESS_CHILD_H_
#define LANISTA_SRC_TRIAL_PROCESS_CHILD_H_

#include "src/trial_process/request_handler.h"

namespace lanista {

// Serves the socket kTrialProcessSocket until Shutdown or its end; returns the exit status. A reader thread takes
// requests, this thread executes them.
int ServeTrialProcess(const MakeRequestHandler& make_handler);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_CHILD_H_
