// HeadActor: checks experiments, starts them and holds them until they end.
#ifndef LANISTA_ACTORS_HEAD_H_
#define LANISTA_ACTORS_HEAD_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "actors/interfaces.h"
#include "actors/live_actors.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/experiment/setup.h"
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

  absl::StatusOr<v1::Validated> Validate(const v1::ValidateExperiment& request, uint64_t seed,
                                         const v1::Discovered& discovered) const;
  // Learns the experiment's space, then launches what `set_up` makes of it; the answer is the experiment's id.
  caf::result<v1::Submitted> DiscoverAndLaunch(
      const v1::ExperimentConfig& config, uint64_t seed, const WatcherActor& watcher,
      std::function<absl::StatusOr<ExperimentSetup>(const v1::Discovered&)> set_up);
  // Starts the actors of an experiment.
  void Launch(ExperimentSetup setup, const WatcherActor& watcher);
  void OnExperimentDown(const caf::down_msg& down);

  HeadActor::pointer self_;
  HeadOptions options_ = {StateDir::OpenReadOnly(""), {}, {}, {}};
  std::map<caf::actor_addr, Running> experiments_;
};

// Spawn it detached: journals are opened in it. `config`s have been through LoadConfig (src/config).
HeadActor::behavior_type Head(HeadActor::stateful_pointer<HeadState> self, HeadOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_HEAD_H_
