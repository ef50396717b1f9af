// HeadActor: checks experiments, starts them and holds them until they end.
//
// Where the training service ends by an error, what waits for a space fails; experiments that run end by themselves
// (actors/engine.h).
#ifndef LANISTA_ACTORS_HEAD_H_
#define LANISTA_ACTORS_HEAD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actors/interfaces.h"
#include "actors/live_actors.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/experiment/setup.h"
#include "src/experiment/weights_bars.h"
#include "src/storage/state_dir.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

struct HeadOptions {
  StateDir state_dir;
  TrainingServiceActor service;
  // Where the actors of experiments that may be busy for long are entered.
  LiveActors live;
  // v1::StateChanged.served, of all that runs here.
  bool served = false;
  // Experiments that ask for a higher priority get this one.
  int max_priority = std::numeric_limits<int>::max();
  // For clients' experiments: the pause before a space is discovered again because its trial process was lost. It
  // doubles each time.
  std::chrono::milliseconds discovery_pause{1000};
  TelemetryPtr telemetry = std::make_shared<Telemetry>();
  // Nodes of the head before this one: they may return with trials of experiments that go on.
  std::set<std::string> nodes = {};
  WeightsBarsPtr weights_bars = std::make_shared<WeightsBars>();
};

// With its message to itself: the space of a beginning is to be discovered again.
using HeadSelf = HeadActor::extend<caf::reacts_to<deadline_atom, int32_t>>;

class HeadState {
 public:
  static inline const char* name = "head";

  explicit HeadState(HeadSelf::pointer self) : self_(self) {}

  HeadSelf::behavior_type MakeBehavior(HeadOptions options);

 private:
  struct Running {
    std::string id;
    WatcherActor watcher;
    ExperimentActor actor;
  };

  // What an experiment has to know before it starts.
  struct Preparation {
    v1::Discovered discovered;
    // Those of the moment that run the program which discovered the space.
    std::vector<v1::Device> devices;
  };
  using TakePreparation = std::function<void(absl::StatusOr<Preparation>)>;

  // An experiment that is held, and whose space is being discovered.
  struct Beginning {
    std::shared_ptr<HeldExperiment> held;
    v1::ExperimentConfig config;
    WatcherActor watcher;
    // It runs, or why it does not. CANCELLED: it was stopped before. Called once; `held` is let go of before, where it
    // does not run.
    std::function<void(const absl::Status&)> done;
    // How often its discovery was lost.
    int lost = 0;
    // For telemetry; set once it is here.
    std::unique_ptr<CountedIn> counted = nullptr;
  };

  // Discovers the space, as soon as there is a device for it, and lists those that meet the requirements. Errors: the
  // discovery's; INTERNAL where the training service ends before.
  void Prepare(v1::Discover discover, const v1::RequirementsConfig& requirements, TakePreparation done);
  void OnPrepared(int number, absl::StatusOr<Preparation> preparation);
  // How many trials would run at a time if the experiment were the only one.
  static int CouldRun(const v1::ExperimentConfig& config, const std::vector<v1::Device>& devices);
  absl::StatusOr<v1::Validated> Validate(const v1::ValidateExperiment& request, uint64_t seed,
                                         const Preparation& preparation) const;
  // Learns the space of a new experiment, then starts it; the answer is its id.
  caf::result<v1::Submitted> Submit(const v1::SubmitExperiment& submit, const WatcherActor& watcher);
  caf::result<v1::Submitted> Create(v1::ExperimentCreated created, const WatcherActor& watcher);
  caf::result<v1::Submitted> Resume(const v1::ResumeExperiment& resume, const WatcherActor& watcher);
  void Stop(const v1::StopExperiment& stop);
  // Learns the experiment's space, then starts it or goes on with it.
  void Begin(Beginning beginning);
  // Asks for the space of a beginning, for the first time or again.
  void Discover(int number);
  void OnBeginningPrepared(int number, absl::StatusOr<Preparation> preparation);
  // For an experiment that nodes have returned to with trials: the space that its journal has. A discovery might have
  // to wait for these trials.
  absl::StatusOr<Preparation> PrepareWithNodes(const Beginning& beginning) const;
  // The experiment does not go on now, or not with trials that nodes have.
  void GiveUpTrialsOfNodes(const std::string& experiment);
  // An experiment that has no end yet did not begin, or go on: records why.
  void EndUnbegun(HeldExperiment& held, const WatcherActor& watcher, const absl::Status& why);
  // Has those who watch an experiment look again once nobody holds it any more; for a head that serves clients.
  void TellRelease(HeldExperiment& held, const WatcherActor& watcher);
  // Starts the actors of an experiment. `devices`: those of the moment.
  void Launch(ExperimentSetup setup, const std::vector<v1::Device>& devices, const WatcherActor& watcher);
  void OnServiceDown(const caf::error& reason);
  void OnExperimentDown(const caf::down_msg& down);

  HeadSelf::pointer self_;
  HeadOptions options_ = {StateDir::OpenReadOnly(""), {}, {}};
  std::map<caf::actor_addr, Running> experiments_;
  // By numbers that are counted.
  std::map<int, Beginning> beginnings_;
  int last_beginning_ = 0;
  // Who waits for a space, by numbers that are counted.
  std::map<int, TakePreparation> preparations_;
  int last_preparation_ = 0;
  // INTERNAL: the training service ended by an error.
  absl::Status service_status_;
};

// Spawn it detached: journals are opened in it. `config`s have been through LoadConfig (src/config).
HeadSelf::behavior_type Head(HeadSelf::stateful_pointer<HeadState> self, HeadOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_HEAD_H_
