// HeadActor: checks experiments, starts them and holds them until they end.
#ifndef LANISTA_ACTORS_HEAD_H_
#define LANISTA_ACTORS_HEAD_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "actors/live_actors.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "engines/planner.h"
#include "src/storage/state_dir.h"

namespace lanista {

struct HeadOptions {
  StateDir state_dir;
  TrainingServiceActor service;
  // Of the service: as many trials run at once where an experiment does not say.
  std::vector<v1::Device> devices;
  // Where the actors of experiments that may be busy for long are entered.
  LiveActors live;
};

class HeadState {
 public:
  static inline const char* name = "head";

  explicit HeadState(HeadActor::pointer self) : self_(self) {}

  HeadActor::behavior_type MakeBehavior(HeadOptions options);

 private:
  struct Running {
    std::string id;
    WatcherActor watcher;
    ExperimentActor actor;
  };

  // What an experiment needs to know of its space before it starts, from a trial process.
  v1::Discover MakeDiscover(const v1::ExperimentConfig& config, uint64_t seed) const;
  absl::StatusOr<std::unique_ptr<Planner>> MakePlanner(const v1::ExperimentConfig& config,
                                                       const v1::Discovered& discovered) const;
  int MaxTrials(const v1::ExperimentConfig& config) const;
  absl::StatusOr<v1::Validated> Validate(const v1::ValidateExperiment& request, uint64_t seed,
                                         const v1::Discovered& discovered) const;
  // Starts the experiment whose space was learned; returns its id. After an error nothing is left behind.
  absl::StatusOr<std::string> Launch(const v1::ExperimentConfig& config, uint64_t seed,
                                     const v1::Discovered& discovered, const WatcherActor& watcher);
  void OnExperimentDown(const caf::down_msg& down);

  HeadActor::pointer self_;
  HeadOptions options_ = {StateDir::OpenReadOnly(""), {}, {}, {}};
  std::map<caf::actor_addr, Running> experiments_;
};

// Spawn it detached: journals are opened in it. `config`s have been through LoadConfig (src/config).
HeadActor::behavior_type Head(HeadActor::stateful_pointer<HeadState> self, HeadOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_HEAD_H_
