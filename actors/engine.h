// EngineActor: makes trials of models, and keeps as many of them queued as may run: as the experiment's
// trial_concurrency says, else its share of the devices, which the training service tells whenever it changes. The
// owner is told, too.
//
// What becomes of a model whose attempt has ended is its owner's matter (the experiment's ledger): the engine hands on
// every event, and is told which model runs again. Such trials go before new ones that still wait.
//
// Trials that nodes may bring back (on_nodes) are running from the beginning on. When all ends of a trial are in the
// journal the training service hears so: until then a node keeps what it said of it.
//
// Where the training service ends by an error, the engine ends with that error, and so does the experiment.
#ifndef LANISTA_ACTORS_ENGINE_H_
#define LANISTA_ACTORS_ENGINE_H_

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "actors/interfaces.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "engines/planner.h"
#include "src/experiment/trial_on_node.h"

namespace lanista {

struct EngineOptions {
  // What all trials of the experiment share; models, number and files are filled in.
  v1::TrialSpec trial_template;
  // The experiment's space, to say what is different where a trial process has another one.
  v1::SpaceSpec space;
  // The experiment's folder, for what trials write.
  std::string folder;
  std::shared_ptr<Planner> planner;
  // Most trials at a time, a merged one counted once. Absent: its share of the devices.
  std::optional<int> max_trials;
  // The share, until the training service says another one.
  v1::DeviceShare share;
  // Trials of the experiment that there were before: numbers go on from there.
  int trials = 0;
  // Of these, the ones that may still run.
  std::vector<TrialOnNode> on_nodes = {};
};

class EngineState {
 public:
  static inline const char* name = "engine";

  explicit EngineState(EngineActor::pointer self) : self_(self) {}

  EngineActor::behavior_type MakeBehavior(EngineOptions options, ModelOwnerActor owner, TrainingServiceActor service);

 private:
  struct RunningTrial {
    int num_models = 0;
    bool retry = false;
    // The estimate before it was corrected, in bytes.
    int64_t estimated_memory = 0;
    // The most that its models were seen to take, in bytes.
    int64_t measured_memory = 0;
    // None of them has failed, was lost or canceled.
    bool well = true;
    // The models whose attempts have not ended.
    std::set<int> open_models;
    // The training service has it.
    bool queued = false;
    // The models that were stopped before it was queued.
    std::vector<int> stopped;
  };

  // A trial without a number.
  struct WaitingTrial {
    v1::TrialSpec spec;
    v1::TrialPlan plan;
  };

  int MaxTrials() const { return options_.max_trials.value_or(options_.share.trials()); }
  // Trials that wait here, are queued or run.
  int Trials() const { return static_cast<int>(running_.size() + waiting_.size()); }
  // Tells the training service which trials nodes may bring back.
  void AwaitNodes();
  // Where the trial's models write.
  void SetPaths(int num_models, v1::TrialSpec* trial) const;
  void OnRecorded(v1::EventsRecorded recorded);
  // Says for how many trials it wants devices, where that has changed.
  void Want();
  void OnShare(const v1::DeviceShare& share);
  // Plans trials of new models.
  void OnModels(v1::RunModels request);
  // Launches what waits, as far as MaxTrials lets it.
  void LaunchWaiting();
  void OnStop(v1::StopModel stop);
  // Numbers trials, has them recorded, then queues them.
  void Launch(std::vector<WaitingTrial> trials);
  // The trial is recorded.
  void Queue(const v1::TrialSpec& trial);
  // Says how the trial process's space differs from the experiment's, if it does.
  void ExplainMismatch(v1::ModelEvent* event) const;
  void OnEnded(const v1::ModelEvent& event);

  EngineActor::pointer self_;
  EngineOptions options_;
  ModelOwnerActor owner_;
  TrainingServiceActor service_;
  int trials_ = 0;
  bool canceled_ = false;
  // No new models come.
  bool last_ = false;
  // The training service has heard that it runs at most so many trials; absent: as many as it may.
  bool has_wanted_ = false;
  std::optional<int> wanted_;
  // Trials that were launched and have not ended, by number.
  std::map<int, RunningTrial> running_;
  // By trial and model: the numbers of ends that are not known to be in the journal.
  std::map<int, std::map<int, int>> unrecorded_ends_;
  // Those that try again are first.
  std::deque<WaitingTrial> waiting_;
};

EngineActor::behavior_type Engine(EngineActor::stateful_pointer<EngineState> self, EngineOptions options,
                                  ModelOwnerActor owner, TrainingServiceActor service);

}  // namespace lanista

#endif  // LANISTA_ACTORS_ENGINE_H_
