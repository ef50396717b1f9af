// Events on their way to the head.
#ifndef LANISTA_SRC_TRIAL_PROCESS_EVENT_FRAME_H_
#define LANISTA_SRC_TRIAL_PROCESS_EVENT_FRAME_H_

#include <string>

#include "protos/trial.pb.h"

namespace lanista {

// Returns the event as a frame. Bytes that are not UTF-8, which user code may have put into its texts, are replaced. An
// event that cannot be sent is replaced by one that says why: that the model has failed, or that the request cannot be
// answered. Events larger than a frame cannot be sent, nor can a space with text that is not UTF-8, because replacing
// bytes would change its labels.
std::string EventFrame(v1::TrialEvent event);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_EVENT_FRAME_H_
