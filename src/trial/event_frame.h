// Events on their way to the head.
#ifndef LANISTA_SRC_TRIAL_EVENT_FRAME_H_
#define LANISTA_SRC_TRIAL_EVENT_FRAME_H_

#include <string>

#include "protos/trial.pb.h"

namespace lanista {

// The event as a frame, in UTF-8 whatever text user code put there. One that cannot be sent is replaced by one that
// says why: the model has failed, the request cannot be answered. That is one that is larger than a frame, and a space
// whose text would not come back as it went.
std::string EventFrame(v1::TrialEvent event);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_EVENT_FRAME_H_
