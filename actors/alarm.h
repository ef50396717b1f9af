// A deadline that moves with each step of an actor's work.
#ifndef LANISTA_ACTORS_ALARM_H_
#define LANISTA_ACTORS_ALARM_H_

#include <chrono>
#include <optional>
#include <set>

#include "actors/message_types.h"
#include "caf/actor_clock.hpp"

namespace lanista {

// CAF keeps a delayed message until its time, whether anybody still waits for it or not: one for each step would grow
// with the number of steps. An alarm sends another one only where none is on its way that comes in time. It belongs to
// one actor, which hands each deadline_atom to Rings().
class Alarm {
 public:
  // The deadline is `delay` from now; an earlier one is void. `self`: the actor.
  template <class Self>
  void Set(Self* self, std::chrono::milliseconds delay) {
    const TimePoint now = self->clock().now();
    deadline_ = now + delay;
    SendInTime(self, now);
  }

  // There is no deadline any more.
  void Clear() { deadline_.reset(); }

  // A deadline_atom came: returns whether the deadline has passed. It is void then.
  template <class Self>
  bool Rings(Self* self) {
    const TimePoint now = self->clock().now();
    under_way_.erase(under_way_.begin(), under_way_.upper_bound(now));
    if (!deadline_.has_value()) return false;
    if (now < *deadline_) {
      SendInTime(self, now);
      return false;
    }
    deadline_.reset();
    return true;
  }

 private:
  using TimePoint = caf::actor_clock::time_point;

  template <class Self>
  void SendInTime(Self* self, TimePoint now) {
    if (!under_way_.empty() && *under_way_.begin() <= *deadline_) return;
    under_way_.insert(*deadline_);
    self->delayed_send(self, *deadline_ - now, deadline_atom_v);
  }

  std::optional<TimePoint> deadline_;
  // When messages that were sent come.
  std::set<TimePoint> under_way_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_ALARM_H_
