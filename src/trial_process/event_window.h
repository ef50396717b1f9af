// How many events of a trial may be on their way from its process to the journal.
//
// An evaluator can report events faster than the journal can write them. Therefore the side that records events
// acknowledges some of them (IsAcknowledged). The side that reads events from the trial counts those that were read but
// are not known to be recorded (EventWindow). While there are too many of them, it reads nothing more: the socket fills
// up, and the trial waits. So memory is bounded, whatever an evaluator reports.
#ifndef LANISTA_SRC_TRIAL_PROCESS_EVENT_WINDOW_H_
#define LANISTA_SRC_TRIAL_PROCESS_EVENT_WINDOW_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "protos/messages.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

// One of so many events of an attempt is acknowledged, and each event that is larger than this, in bytes: those between
// two of them are few and small.
inline constexpr int kAcknowledgedOneOf = 64;
inline constexpr int64_t kSmallEventBytes = 4096;

// So many events, with so many bytes in all.
struct EventAmount {
  int64_t events = 0;
  int64_t bytes = 0;

  EventAmount& operator+=(const EventAmount& more) {
    events += more.events;
    bytes += more.bytes;
    return *this;
  }
  EventAmount& operator-=(const EventAmount& less) {
    events -= less.events;
    bytes -= less.bytes;
    return *this;
  }
  // Of one or the other.
  bool reaches(const EventAmount& limit) const { return events >= limit.events || bytes >= limit.bytes; }
};

// Whether this event is acknowledged once it, and those before it of its attempt, are recorded. The end of an attempt
// needs no acknowledgement.
bool IsAcknowledged(const v1::ModelEvent& event);

// The acknowledgement of `event`.
v1::EventsRecorded AcknowledgementOf(const v1::ModelEvent& event);

// Counts the events of a trial that were read and are not known to be recorded. Events of models that have ended do not
// count. Used by one thread at a time.
class EventWindow {
 public:
  using Clock = std::chrono::steady_clock;

  // The window is full with so many events or bytes. Each model of the trial adds what is between two acknowledgements,
  // so that the window cannot be full of recorded events.
  static constexpr int64_t kEvents = 1024;
  static constexpr int64_t kBytes = 4 << 20;

  explicit EventWindow(EventAmount limit = {kEvents, kBytes}) : limit_(limit) {}

  // A new trial begins. Events of earlier trials do not count any more.
  void Begin(const v1::TrialSpec& trial);

  // An event was read. It counts only if it belongs to a model of the trial that has not ended.
  void Read(const v1::ModelEvent& event, Clock::time_point now);

  // Events were recorded. Acknowledgements of another trial or attempt are ignored.
  void Recorded(const v1::EventsRecorded& recorded, Clock::time_point now);

  // The limit for each of so many trials that run at a time, so that together they do not have more than 64 at the full
  // limit (but for what lies between two acknowledgements).
  static EventAmount LimitOfOneIn(int trials);

  // Whether the reader should read no more for now.
  bool full() const { return excess().reaches(limit_); }

  // What is not known to be recorded, without what each model may add: where there is any, some of it will be
  // acknowledged.
  EventAmount excess() const;

  // How long it was full since the trial began, all in all.
  Clock::duration FullFor(Clock::time_point now) const;

 private:
  // How much of a model had been read up to an event that will be acknowledged.
  struct Mark {
    int sequence = 0;
    EventAmount read;
  };
  struct Model {
    int attempt = 0;
    EventAmount read;
    EventAmount recorded;
    std::deque<Mark> marks;
  };

  // Called whenever what is unrecorded has changed.
  void Update(Clock::time_point now);

  EventAmount limit_;
  std::string experiment_;
  int trial_ = 0;
  // The models with which the trial began.
  int64_t num_models_ = 0;
  // The models that have not ended.
  std::map<int, Model> models_;
  EventAmount unrecorded_;
  bool was_full_ = false;
  Clock::time_point full_since_;
  Clock::duration full_before_{0};
};

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_EVENT_WINDOW_H_
