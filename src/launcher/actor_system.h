// What the actor systems of this program have in common.
#ifndef LANISTA_SRC_LAUNCHER_ACTOR_SYSTEM_H_
#define LANISTA_SRC_LAUNCHER_ACTOR_SYSTEM_H_

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_join.h"
#include "actors/message_types.h"
#include "caf/actor_system_config.hpp"
#include "caf/atom.hpp"
#include "caf/logger.hpp"
#include "src/base/logging.h"

namespace lanista {

struct ActorSystemConfig : caf::actor_system_config {
  ActorSystemConfig() {
    add_message_types<caf::id_block::lanista>();
    // Threads without work sleep until there is some. Those of the default policy look for it every 50 us at first,
    // which takes an eighth of the time of trials that cost nothing else (bench:orchestration).
    set("scheduler.policy", caf::atom("sharing"));
    // The few event-based actors do little each; processors are for training.
    set("scheduler.max-threads", static_cast<size_t>(std::clamp(std::thread::hardware_concurrency(), 1u, 4u)));
  }
};

// Stands in a call that spawns or asks actors, on a thread that is none of their system's. CAF gives each such thread a
// part of the system's logger, and the system's destructor waits until nobody has one: at the end of the call the
// thread gives its part back. Else nobody but this thread, or its end, could end the system.
class ForeignCall {
 public:
  ForeignCall() = default;
  ~ForeignCall() { caf::logger::set_current_actor_system(nullptr); }
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;
};

// Whether an actor did not end in time. The process must then end with _exit, so that nothing which that actor may
// still use is destroyed.
inline std::atomic<bool> left_actors_behind{false};

// Returns true, and logs the actors' names, if some actors did not end: their system must then live as long as the
// process.
inline bool LeaveBehind(const std::vector<std::string>& actors) {
  if (actors.empty()) return false;
  LogWarning("not waiting any longer for {}", absl::StrJoin(actors, ", "));
  left_actors_behind = true;
  return true;
}

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_ACTOR_SYSTEM_H_
