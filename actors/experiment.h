// ExperimentActor: one experiment's life cycle, its limits, and what is in flight.
//
//            (1)              (2)
//   RUNNING -----> STOPPING ------> STOPPED | DONE | FAILED
//       \                              ^
//        +-----------------------------+
//                     (3)
//
//   1. StopExperiment (then STOPPED), max_duration (then DONE), or something that makes going on pointless: the journal
//      cannot be written, the strategy failed, workers keep being lost (then FAILED). What waits or runs is
//      canceled.
//   2. Nothing is in flight any more. The answer to an Ask is not waited for.
//   3. Nothing is in flight and nothing can come: max_trial_number models, or the strategy is exhausted. DONE, or
//      FAILED where no model succeeded.
//
// The journal comes first: a sample is recorded before its model is planned, a trial before it is queued, an outcome
// before the strategy or a watcher hears of it, and in one transaction with the end of the attempt that decided. What
// becomes of attempts and models is the ledger's to decide (src/experiment/attempt_ledger.h). Requests to the journal
// are answered in order, so that the last record's answer comes after all others'. Once the journal is broken, nobody
// hears of anything but of the end.
//
// The strategy's call log is in the order in which the strategy executes the calls, because each call is numbered
// before the next one is made: while an Ask is in flight nothing is told, and outcomes wait for its answer; then all of
// them are told before it is asked again. (A merged trial gives its room back as a whole, see ModelsInFlight: the
// strategy hears of all its models before it is asked for others in their place.)
//
// Tells are recorded with the answer to the Ask that follows them, or with the state that does: at any moment the
// journal has the first of the calls that were executed, and nobody has acted on an answer that it lacks. So resume
// loses nothing (src/experiment/recovery.h): an outcome without a Tell is told when the log has been replayed, and a
// last Ask that is not in the log is as if it had never been. From a stop on no calls are made, and the answer to an
// Ask in flight is dropped.
//
// Early stopping: a step that is in the journal goes to the stopper, its verdict into the journal, and then, if it
// stops the model, a StopModel to the engine. The ledger decides what the verdict means; the engine's part is only to
// save the rest of the training. The stopper answers in order and its calls are numbered when they are answered, so
// that their log, too, is in the order in which they were executed. An end waits for its model's verdicts and for
// nobody else's: a stopper that thinks delays what it decides, and neither the strategy nor other models. From a stop
// on it is not called any more, and what it still answers is dropped.
#ifndef LANISTA_ACTORS_EXPERIMENT_H_
#define LANISTA_ACTORS_EXPERIMENT_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "actors/interfaces.h"
#include "caf/actor_clock.hpp"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"
#include "src/experiment/attempt_ledger.h"
#include "src/experiment/recovery.h"
#include "src/experiment/weights_bars.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

struct ExperimentOptions {
  std::string id;
  // Limits.
  v1::ExperimentConfig config;
  v1::SpaceSpec space;
  // Its own from now on.
  std::shared_ptr<AttemptLedger> ledger;
  // What it begins or goes on with.
  StartingPoint start;
  // Most models in flight: so many for each of the trials that may run. These are the configured trial_concurrency,
  // else the share of the devices, which changes.
  int models_per_trial = 1;
  int max_trials = 1;
  // v1::StateChanged.served.
  bool served = false;
  JournalActor journal;
  StrategyActor strategy;
  // Null: every model trains to its end.
  StopperActor stopper;
  WatcherActor watcher;
  // Removes the weights in a folder of an attempt that nobody needs, if there are any. Must not block.
  std::function<void(const std::string& folder)> remove_weights;
  // Removes a model's checkpoints, if there are any. Must not block.
  std::function<void(const std::string& folder)> remove_checkpoints;
  // Makes the engine, once.
  std::function<ModelRunnerActor(const ModelOwnerActor&)> make_engine;
  TelemetryPtr telemetry = std::make_shared<Telemetry>();
  // Where nodes find which weights are still wanted.
  WeightsBarsPtr weights_bars = std::make_shared<WeightsBars>();
};

// With its messages to itself: max_duration is over; the watchdog looks for requests without an answer. (Requests have
// no time-outs of their own: CAF never cancels those.)
using ExperimentSelf = ExperimentActor::extend<caf::reacts_to<deadline_atom>, caf::reacts_to<caf::tick_atom>>;

// Of the actor; the experiment is in a v1::ExperimentState::State.
class ExperimentState {
 public:
  static inline const char* name = "experiment";

  explicit ExperimentState(ExperimentSelf::pointer self) : self_(self) {}

  ExperimentSelf::behavior_type MakeBehavior(ExperimentOptions options);

 private:
  // What is done once a batch is in the journal, whose first record has this number; or once it is known that it never
  // will be.
  using OnRecorded = absl::AnyInvocable<void(int64_t first_number)>;
  using OnLost = absl::AnyInvocable<void()>;

  struct PendingWrite {
    caf::actor_clock::time_point since;
    OnRecorded recorded;
    OnLost lost;
  };

  void Start();
  // Does what is due: tells the strategy what it has not heard, asks it for models, or ends the experiment.
  void Proceed();
  void TellAll();
  // Devices came or went.
  void OnShare(const v1::DeviceShare& share);
  // Asks the strategy for as many models as there is room for.
  void Fill();
  // How many models may be asked for: by room in flight (so many as trial_concurrency allows, but no more than the
  // devices can train or kMostWaiting, whichever is more) and by max_trial_number.
  int Room() const;
  int Left() const;
  void OnProposal(int asked, v1::AskReply reply);
  // An attempt that ended did not decide: its model runs again.
  void RunAgain(AttemptLedger::Decision& decision);
  // The models of samples that the strategy proposed.
  v1::RunModels MakeModels(const v1::AskReply& reply, v1::JournalBatch& batch);
  // `full`: no other comes before a model in flight has ended.
  void SendModels(v1::RunModels run, bool full);
  caf::result<v1::Ack> OnPlanned(const v1::PlannedTrials& planned);
  void OnModelEvent(v1::ModelEvent event);
  // Says what is recorded of this model, as far as nobody keeps it any more.
  void Acknowledge(int model);

  // In experiment_stopping.cc: what the stopper hears, and what follows from its verdicts.
  //
  // Tells the stopper of a step, if there is one to tell of.
  void AskStopper(const std::optional<v1::StepReport>& report);
  void OnVerdict(const v1::StepReport& report, const v1::StopVerdict& verdict);
  // A verdict that is in the journal has stopped the model: its trial need not train it any more.
  void StopTraining(int trial, int model);
  // Tells the stopper of an outcome.
  void TellStopper(const v1::TellRequest& tell);
  // What the stopper was told longest ago is answered; whether the answer counts.
  bool OnStopperAnswer(const v1::StopVerdict& answer);
  void OnStopperGone(const caf::error& error);
  // The stopper's next call, in `batch`.
  v1::StoppingCall& AddStoppingCall(v1::JournalBatch& batch);

  // Tells nodes which weights are still wanted. Only outcomes that are in the journal count: what a head forgets that
  // is killed must have cost no model its weights.
  void SayWeightsBar();
  // The outcome is in the journal, as the fact with this number.
  void OnOutcomeRecorded(v1::ModelOutcome outcome, int64_t number);
  // A model whose outcome, or next trial, can never be recorded: nobody hears of it.
  void Drop(int model);

  // (1): goes to STOPPING, and to `final_state` once nothing is in flight. The first reason counts.
  void Stop(v1::ExperimentState::State final_state, std::string reason);
  // (2) or (3), if it is time.
  void MaybeFinish();
  void Finish(v1::ExperimentState::State state, const std::string& reason);
  // Tells the watcher the end, and ends.
  void End(v1::ExperimentState::State state, const std::string& reason, int64_t number);

  // The strategy's next call: in the log as soon as `calls_` is written.
  v1::StrategyCall& AddCall();
  // Writes records; then does `recorded`, which may tell others of them. Where the journal is broken, the experiment
  // stops and `lost` is done instead: what keeps it from its end although nobody may hear of the records.
  void Record(v1::JournalBatch batch, OnRecorded recorded, OnLost lost);
  void OnJournalBroken(const caf::error& error);
  // From now on until nothing is without an answer.
  void StartWatchdog();
  void OnWatchdog();
  // `number`: the journal's, of this fact; 0: it is not in the journal.
  void Watch(v1::ExperimentEvent event, int64_t number);
  void WatchState(v1::ExperimentState::State state, const std::string& reason, int64_t number);

  ExperimentSelf::pointer self_;
  ExperimentOptions options_;
  // In one of its telemetry's gauges.
  CountedIn state_counted_;
  ModelRunnerActor engine_;

  // Trials that its share of the devices can run at a time, as far as that is known.
  int share_ = 1;
  // An Ask is in flight.
  bool asking_ = false;
  caf::actor_clock::time_point asked_at_;
  // When the log last mentioned that Ask, or asked_at_.
  caf::actor_clock::time_point noticed_at_;
  bool exhausted_ = false;
  int strategy_calls_ = 0;
  // Calls that were made and are not in the journal yet.
  v1::JournalBatch calls_;
  // Outcomes that are in the journal and that the strategy has not heard of.
  std::vector<v1::TellRequest> untold_;

  int stopping_calls_ = 0;
  // When the stopper was told of what it has not answered. It answers in order.
  std::deque<caf::actor_clock::time_point> stopper_told_;
  // When the log last mentioned that it takes long.
  caf::actor_clock::time_point stopper_noticed_at_;
  // The log has said that there is nothing to decide on.
  bool warned_of_no_steps_ = false;

  // Of events that are recorded, whose steps wait for a verdict. By model, in order.
  std::map<int, std::deque<v1::EventsRecorded>> unacknowledged_;

  // Set once in STOPPING.
  v1::ExperimentState::State final_state_ = v1::ExperimentState::STATE_UNSPECIFIED;
  std::string final_reason_;
  // Its first error.
  absl::Status journal_;
  // Requests that it has not answered. It answers in order.
  std::deque<PendingWrite> journal_writes_;
  bool watchdog_runs_ = false;
  bool finished_ = false;
};

// Ends with its experiment, and takes strategy, journal and engine with it.
ExperimentSelf::behavior_type Experiment(ExperimentSelf::stateful_pointer<ExperimentState> self,
                                         ExperimentOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_EXPERIMENT_H_
