// Trials that have ended on a node, and are not known to be in the journal: their nodes keep what they said.
#ifndef LANISTA_ACTORS_ENDED_TRIALS_H_
#define LANISTA_ACTORS_ENDED_TRIALS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/interfaces.h"
#include "caf/actor_addr.hpp"

namespace lanista {

// A plain class for one thread. It sends nothing.
class EndedTrials {
 public:
  // `worker`: who hears that it is in the journal. `owner`: who writes it down.
  void Add(const std::string& experiment, int trial, const WorkerActor& worker, const caf::actor_addr& owner);
  // All of it is in the journal: its worker need not wait any more. nullopt: there is no such trial.
  std::optional<WorkerActor> Recorded(const std::string& experiment, int trial);
  // Nobody will write down what the owner had: its trials, in order, and their workers.
  std::vector<std::pair<int, WorkerActor>> OwnerGone(const std::string& experiment, const caf::actor_addr& owner);

 private:
  struct Ended {
    WorkerActor worker;
    caf::actor_addr owner;
  };

  // By experiment and trial.
  std::map<std::string, std::map<int, Ended>> trials_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_ENDED_TRIALS_H_
