// What actors write for trials that cannot speak for themselves, and what they believe of what trials say.
#ifndef LANISTA_ACTORS_MODEL_EVENTS_H_
#define LANISTA_ACTORS_MODEL_EVENTS_H_

#include "absl/status/status.h"
#include "google/protobuf/timestamp.pb.h"
#include "protos/messages.pb.h"

namespace lanista {

// The end of an attempt that did not tell its own: a process that died, a trial that was canceled in the queue.
// `last_sequence` is that of the attempt's last event. `lost_cause`: where it was LOST.
v1::ModelEvent EndedEvent(const v1::TrialSpec& spec, const v1::TrialModel& model, int last_sequence,
                          v1::ModelEnded::Outcome outcome, const v1::Failure& failure = {},
                          v1::ModelEnded::LostCause lost_cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED);

// An attempt that has not ended.
struct OpenAttempt {
  int attempt = 0;
  // Of its last event.
  int last_sequence = 0;
};

// What is wrong with an event of the attempt, for people ("numbers a report 1 after 2"); OK: nothing. Events come from
// processes that run users' code, and from other machines. `canceled`, `stopped`: whether the trial was canceled, or
// the model stopped; an attempt that says so without it lies, and so does one that was LOST otherwise than a worker
// can know.
absl::Status CheckEvent(const v1::ModelEvent& event, const OpenAttempt& open, bool canceled, bool stopped);

// Whether it is a time that protobuf and the journal can hold.
bool IsTime(const google::protobuf::Timestamp& time);

}  // namespace lanista

#endif  // LANISTA_ACTORS_MODEL_EVENTS_H_
