// Which actors still run: a shutdown waits for them, but not for ever, and names those that are left.
#ifndef LANISTA_ACTORS_LIVE_ACTORS_H_
#define LANISTA_ACTORS_LIVE_ACTORS_H_

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caf/abstract_actor.hpp"
#include "caf/actor_cast.hpp"
#include "caf/actor_control_block.hpp"

namespace lanista {

// Copies stand for the same set. Thread-safe.
class LiveActors {
 public:
  LiveActors();

  // `name`, for people, is in the set until the actor ends. For actors with a thread of their own: they may be busy
  // when they are told to end; others end at once.
  template <typename Handle>
  void Add(const Handle& actor, const std::string& name) {
    Enter(name);
    caf::actor_cast<caf::strong_actor_ptr>(actor)->get()->attach_functor([live = *this, name] { live.Leave(name); });
  }

  // Waits until all have ended. Returns the names of those that have not after `limit`.
  std::vector<std::string> WaitForNone(std::chrono::milliseconds limit) const;

 private:
  struct State;

  void Enter(const std::string& name) const;
  void Leave(const std::string& name) const;

  std::shared_ptr<State> state_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_LIVE_ACTORS_H_
