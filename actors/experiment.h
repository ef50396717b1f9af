// ExperimentActor: one experiment's life cycle, its limits, and what is in flight.
//
//            (1)              (2)
//   RUNNING -----> STOPPING ------> STOPPED | DONE | EXPERIMENT_FAILED
//       \                              ^
//        +-----------------------------+
//                     (3)
//
//   1. StopExperiment (then STOPPED), max_duration (then DONE), or something that makes going on pointless: the journal
//   cannot be written, the strategy
//      failed, workers keep being lost (then EXPERIMENT_FAILED). What waits or runs is canceled.
//   2. Nothing is in flight any more.
//   3. Nothing is in flight and nothing can come: max_trial_number models, or the strategy is exhausted. DONE, or
//   EXPERIMENT_FAILED where no model succeeded.
//
// The journal comes first: a sample is recorded before its model is planned, a trial before it is queued, an outcome
// before the strategy or a watcher hears of it. Requests to the journal are answered in order, so that the last
// record's answer comes after all others'.
#ifndef LANISTA_ACTORS_EXPERIMENT_H_
#define LANISTA_ACTORS_EXPERIMENT_H_

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "actors/interfaces.h"
#include "actors/kept_weights.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"

namespace lanista {

struct ExperimentOptions {
  std::string id;
  // Limits and objective.
  v1::ExperimentConfig config;
  uint64_t seed = 0;
  v1::SpaceSpec space;
  // Most models in flight.
  int max_in_flight = 1;
  JournalActor journal;
  StrategyActor strategy;
  WatcherActor watcher;
  // Removes a file of weights that nobody needs, if it is there. Must not block. Not set: no model leaves any.
  std::function<void(const std::string& file)> remove_weights;
  // Makes the engine, once.
  std::function<ModelRunnerActor(const ModelOwnerActor&)> make_engine;
};

// With its message to itself: max_duration is over.
using ExperimentSelf = ExperimentActor::extend<caf::reacts_to<deadline_atom>>;

class ExperimentStateMachine {
 public:
  static inline const char* name = "experiment";

  explicit ExperimentStateMachine(ExperimentSelf::pointer self) : self_(self) {}

  ExperimentSelf::behavior_type MakeBehavior(ExperimentOptions options);

 private:
  void Start();
  // Asks the strategy for as many models as there is room for.
  void Fill();
  // How many models may be asked for: by room in flight and by max_trial_number.
  int Room() const;
  int Left() const;
  void OnProposal(int asked, v1::AskReply reply);
  // `full`: no other comes before a model in flight has ended.
  void SendModels(v1::RunModels run, bool full);
  caf::result<v1::Ack> OnPlanned(const v1::PlannedTrials& planned);
  void OnModelEvent(v1::ModelEvent event);
  void OnOutcome(v1::ModelOutcome outcome);
  void CountOutcome(const v1::ModelOutcome& outcome);
  void RemoveWeights(const v1::ModelOutcome& outcome);

  // (1): goes to STOPPING, and to `final_state` once nothing is in flight. The first reason counts.
  void Stop(v1::ExperimentState final_state, std::string reason);
  // (2) or (3), if it is time.
  void MaybeFinish();
  void Finish(v1::ExperimentState state, const std::string& reason);

  // Writes records, then does `then`. An error stops the experiment.
  void Record(v1::JournalBatch batch, std::function<void()> then);
  void Watch(v1::ExperimentEvent event);
  void WatchState(v1::ExperimentState state, const std::string& reason);

  ExperimentSelf::pointer self_;
  ExperimentOptions options_;
  ModelRunnerActor engine_;

  bool asking_ = false;
  bool exhausted_ = false;
  int strategy_calls_ = 0;
  int models_ = 0;
  // Models without an outcome, and the samples that the strategy knows them by.
  std::map<int, v1::Sample> in_flight_;
  std::optional<KeptWeights> kept_weights_;

  int succeeded_ = 0;
  int failed_ = 0;
  std::string first_failure_;
  int lost_in_a_row_ = 0;

  // Set once in STOPPING.
  v1::ExperimentState final_state_ = v1::EXPERIMENT_STATE_UNSPECIFIED;
  std::string final_reason_;
  bool journal_broken_ = false;
  bool finished_ = false;
};

// Ends with its experiment, and takes strategy, journal and engine with it.
ExperimentSelf::behavior_type Experiment(ExperimentSelf::stateful_pointer<ExperimentStateMachine> self,
                                         ExperimentOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_EXPERIMENT_H_
