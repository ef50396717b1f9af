// How many events of a trial may be on their way from its process to the journal.
//
// A fast evaluator reports more than a journal can write. So reports have a way back: whoever records events says so
// for some of them (IsAcknowledged), and whoever reads them from the trial counts those that were read and are not
// known to be recorded (EventWindow). While they are too many nothing more is read; then the socket fills up and the
// trial waits. So memory is bounded, whatever an evaluator reports.
#ifndef LANISTA_SRC_BASE_EVENT_WINDOW_H_
#define LANISTA_SRC_BASE_EVENT_WINDOW_H_

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

// Whether it is said that this event, and those before it of its attempt, are recorded. The end of an attempt needs no
// acknowledgement.
bool IsAcknowledged(const v1::ModelEvent& event);

// What is said of `event`.
v1::EventsRecorded AcknowledgementOf(const v1::ModelEvent& event);

// Counts what was read of a trial and is not known to be recorded. Models that have ended do not count. Used by one
// thread at a time.
class EventWindow {
 public:
  using Clock = std::chrono::steady_clock;

  // The window is full with so many events or bytes. Each model of the trial adds what is between two acknowledgements,
  // so that the window cannot be full of recorded events.
  static constexpr int64_t kEvents = 1024;
  static constexpr int64_t kBytes = 4 << 20;

  explicit EventWindow(EventAmount limit = {kEvents, kBytes}) : limit_(limit) {}

  // A trial begins: nothing of it was read. What was before does not count any more.
  void Begin(const v1::TrialSpec& trial);

  // An event was read. Nothing counts that does not belong to a model of the trial that has not ended.
  void Read(const v1::ModelEvent& event, Clock::time_point now);

  // Events were recorded. Of another trial or attempt: no matter.
  void Recorded(const v1::EventsRecorded& recorded, Clock::time_point now);

  // The limit for each of so many trials that run at a time, so that together they do not have more than 64 at the full
  // limit (but for what lies between two acknowledgements).
  static EventAmount LimitOfOneIn(int trials);

  // Whether no more should be read.
  bool full() const { return excess().reaches(limit_); }

  // What is not known to be recorded, without what each model may add: where there is any, some of it will be
  // acknowledged.
  EventAmount excess() const;

  // How long it was full since the trial began, all in all.
  Clock::duration FullFor(Clock::time_point now) const;

 private:
  // What had been read of a model with an event that will be acknowledged.
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
  // All that the trial began with.
  int64_t num_models_ = 0;
  // Those that have not ended.
  std::map<int, Model> models_;
  EventAmount unrecorded_;
  bool was_full_ = false;
  Clock::time_point full_since_;
  Clock::duration full_before_{0};
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_EVENT_WINDOW_H_
