// What actors write for trials that cannot speak for themselves.
#ifndef LANISTA_ACTORS_MODEL_EVENTS_H_
#define LANISTA_ACTORS_MODEL_EVENTS_H_

#include "protos/messages.pb.h"

namespace lanista {

// The end of an attempt that did not tell its own: a process that died, a trial that was canceled in the queue.
// `last_sequence` is that of the attempt's last event. `lost_cause`: where it was LOST.
v1::ModelEvent EndedEvent(const v1::TrialSpec& spec, const v1::TrialModel& model, int last_sequence,
                          v1::Outcome outcome, const v1::Failure& failure = {},
                          v1::LostCause lost_cause = v1::LOST_CAUSE_UNSPECIFIED);

}  // namespace lanista

#endif  // LANISTA_ACTORS_MODEL_EVENTS_H_
