// The ledger of an experiment: it keeps the models and their attempts, and it alone decides what becomes of them.
// Worker, training service and trial process only report how an attempt ended.
//
// A model:
//
//              (1)            (2)             (3)            (6)
//      (none) -----> WAITING -----> PLANNED ------> DECIDED -----> (closed)
//                     |   ^            |               ^
//                     |   +----(4)-----+               |
//                     +--------------(5)---------------+
//
//   1. Create: the strategy proposed its sample. It waits for its first attempt.
//   2. Plan: a trial with its current attempt is about to be queued.
//   3. EndAttempt: the attempt ended, and decides. The model has an outcome: the attempt's own, except that
//        any                becomes STOPPED_EARLY where a verdict has stopped the model;
//        any                becomes CANCELED where the experiment is being canceled before there is a verdict on all
//                           steps that were reported: a resume asks for it;
//        LOST or UNMERGED   becomes FAILED (lost too often), or CANCELED where the experiment is being canceled;
//        FAILED             becomes CANCELED where that happens to a merged trial: another of its models may be at
//                           fault, and this one does not run again to tell.
//   4. EndAttempt: the attempt ended, and decides nothing. The model waits for its next attempt:
//        it was LOST        up to kMaxLost times. A head that ended (HEAD_ENDED) or a node that left (NODE_LEFT) is not
//                           counted, however often. Nodes that nothing was heard of any more while they ran the model
//                           (NODE_LOST) are counted apart: with the third one, or with the tenth loss of fewer, the
//                           model has failed, with their names;
//        merged             and FAILED (whatever the reason: another model may be at fault), UNMERGED or LOST: the next
//                           attempt, and all that follow it, are alone. HEAD_ENDED and NODE_LEFT say nothing about the
//                           models, and neither does the first NODE_LOST.
//      A model that a verdict has stopped does not run again, whatever its attempt suffered.
//   5. Cancel: the experiment stops. What waits is CANCELED; what is planned ends by its own events.
//   6. Close: the outcome is in the journal. It counts, and the model takes no room any more. (Drop: it never will be.)
//
// Ends of attempts that are not current (of an earlier attempt, or told twice) decide nothing.
//
// Early stopping: steps are the reports of `default` of a model, counted from 1, each once, whichever attempt makes it
// first. The stopper is told of one step of a model after the other, each after the verdict on the one before, so that
// it hears nothing of a model behind the step at which it stops it. The end of an attempt waits (EndAttempt decides
// nothing, Judge decides later) until there is a verdict on all steps that were reported before. So the outcome does
// not depend on how fast verdicts and stops are.
//
// A plain object: no actor, no clock, no file. It is rebuilt from the journal (recovery.h), and holds nothing of models
// that are closed but counts and the folders of the best: its memory follows what is in flight. Used by one thread.
#ifndef LANISTA_SRC_EXPERIMENT_ATTEMPT_LEDGER_H_
#define LANISTA_SRC_EXPERIMENT_ATTEMPT_LEDGER_H_

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"
#include "src/experiment/kept_weights.h"
#include "src/experiment/models_in_flight.h"
#include "src/goals/goals.h"

namespace lanista {

// The message that tells a strategy the outcome of a model, which it proposed as `sample` and which reported `steps`
// steps.
v1::TellRequest TellOf(const v1::ModelOutcome& outcome, v1::Sample sample, int steps, const Goals& goals);

// Counts the steps of a model: reports of `default`, each once, whichever attempt makes it first.
class StepCounter {
 public:
  // Whether this report, the model's next, is a step that was not there before.
  bool Add(const v1::Intermediate& report);
  int steps() const { return steps_; }

 private:
  int steps_ = 0;
  // The number of the last report as trials count them; -1: none yet.
  int last_report_ = -1;
};

class AttemptLedger {
 public:
  // What follows from the end of an attempt: an outcome, another attempt, or nothing yet.
  struct Decision {
    std::optional<v1::ModelOutcome> outcome;
    std::optional<v1::RunAgain> again;
    // `again` may be merged with other models.
    bool may_merge = false;
    // The attempt that ended was merged.
    bool merged = false;
  };

  // What follows from a verdict of the stopper.
  struct Judgement {
    // The next step to tell to the stopper.
    std::optional<v1::StepReport> next;
    // The trial that is to stop the model; 0: none, the model trains on or its attempt has ended.
    int stop_in_trial = 0;
    // What follows from the attempt's end, if that waited for the verdict.
    Decision decision;
  };

  // What follows from an outcome once it is in the journal.
  struct Closed {
    // What to tell to the strategy.
    v1::TellRequest tell;
    // Folders of weights and checkpoints that are not needed any more, whether they exist or not. Empty if the model
    // was CANCELED: a resume takes that outcome back, and goes on from these files.
    std::vector<std::string> needless_weights;
    std::string needless_checkpoints;
  };

  // `config`: objectives, limits, keep_weights, early_stopping. `folder`: the experiment's, for what attempts write.
  AttemptLedger(const v1::ExperimentConfig& config, uint64_t seed, std::string folder);

  // (1): a model of this sample, with its first attempt.
  v1::TrialModel Create(const v1::Sample& sample);

  // (2). Once canceled: an error, and nothing is planned.
  absl::Status Plan(const v1::TrialQueued& trial);

  // An attempt has started, or has reported. Counts reported steps: an attempt that goes on from a checkpoint need not
  // report earlier steps again; one that begins anew starts TrialModel.reported_steps anew, too. Returns whether the
  // event is a step for the stopper.
  bool Note(const v1::ModelEvent& event);

  // A report for which Note returned true is now in the journal. Returns the step to tell to the stopper now, if there
  // is one.
  std::optional<v1::StepReport> Recorded(const v1::ModelEvent& event);

  // Whether the ledger has finished with everything that the attempt reported up to these events: all its steps have a
  // verdict, or will never get one.
  bool IsJudged(const v1::EventsRecorded& recorded) const;

  // The stopper's verdict on the last step that it was told of this model. Ignored if the experiment is being canceled.
  Judgement Judge(const v1::StepReport& report, const v1::StopVerdict& verdict);

  // (3) or (4). REQUIRES: event.has_ended().
  Decision EndAttempt(const v1::ModelEvent& event);

  // (5). Returns the outcomes of the models that waited for an attempt or for a verdict. From now on no attempt is
  // made, and the stopper is told nothing.
  std::vector<v1::ModelOutcome> Cancel();

  // What the journal gets of an outcome that EndAttempt, Judge or Cancel returned: with it, where the model's weights
  // are kept. REQUIRES: the model is open.
  void Describe(const v1::ModelOutcome& outcome, v1::JournalRecord* record) const;

  // (6), in the order in which outcomes were decided. REQUIRES: EndAttempt, Judge or Cancel returned this outcome.
  Closed Close(const v1::ModelOutcome& outcome);

  // (6) for a model whose outcome, or next trial, cannot be recorded. Does nothing if the model is not in flight.
  void Drop(int model);

  // ---- Rebuilding from the journal (recovery.h) ----

  // (2) for one member of a trial, whether the experiment was canceled or not.
  void PlanOne(int model, int attempt, int trial, bool merged, const std::string& alone_because);
  // (1) to (6) for the next model, which has this outcome. `weights_folder`: where in the experiment's folder its
  // weights are kept; else empty.
  void RestoreClosed(const v1::ModelOutcome& outcome, const std::string& weights_folder);
  // Trials up to this number were planned.
  void RestoreTrials(int last) { trials_ = std::max(trials_, last); }

  // ---- What there is ----

  bool is_open(int model) const { return open_.count(model) > 0; }
  // A model that is not closed, in its current attempt. REQUIRES: is_open(model).
  const v1::TrialModel& open_model(int model) const { return open_.at(model).model; }
  // Models that were created.
  int models() const { return models_; }
  // The last trial's number.
  int trials() const { return trials_; }
  // Models that are not closed.
  int in_flight() const { return in_flight_.size(); }
  // The room that open models take, in models (see ModelsInFlight).
  int room_taken() const { return in_flight_.room_taken(); }

  // Whether an experiment keeps weights of its best models.
  bool keeps_weights() const { return kept_weights_.has_value(); }
  // Whether the weights in this folder (in the experiment's) are kept, or may be once their model has its outcome.
  bool NeedsWeights(const std::string& folder) const {
    return kept_weights_.has_value() && kept_weights_->Needs(folder);
  }
  // KeptWeights::Bar, by the outcomes that are in the journal.
  const std::optional<v1::WeightsBar>& weights_bar() const { return weights_bar_; }

  // The goals by which models are judged.
  const Goals& goals() const { return goals_; }

  // Models that count towards max_trial_number: all but those that were not trained because of what they cost.
  int counted_models() const { return models_ - infeasible_; }
  // Closed models that succeeded or were stopped early.
  int succeeded() const { return succeeded_; }
  int failed() const { return failed_; }
  // Why the first of them did.
  const std::string& first_failure() const { return first_failure_; }
  // Says that no model is within the limits, and how far the nearest one is from them. Empty: a model is within the
  // limits, or it is known of no model whether it is.
  std::string NothingWithinLimits() const;
  // Why it is pointless to go on; empty: it is not. The last model's workers were lost too often, and so were those of
  // the models before it (nodes that were lost say nothing of those that are left); or no model can read the data; or
  // one model after the other was not trained because of what it costs.
  const std::string& hopeless() const { return hopeless_; }

 private:
  // A step that has no verdict yet.
  struct Step {
    int step = 0;
    // The event that reported it.
    int attempt = 0;
    int sequence = 0;
    v1::Metrics metrics;
    bool recorded = false;
    // The stopper has heard of it.
    bool told = false;
  };
  // A verdict that has stopped its model.
  struct Stopped {
    int step = 0;
    int attempt = 0;
    v1::Metrics metrics;
    std::string because;
  };
  struct Open {
    // The model with its current attempt.
    v1::TrialModel model;
    // The trial of the current attempt once it is planned; 0: the model waits for one.
    int trial = 0;
    bool merged = false;
    std::string alone_because;
    // A merged trial with it failed: all later attempts are alone.
    bool must_be_alone = false;
    // The number of lost attempts, not counting those that were lost with their head or node.
    int lost = 0;
    // The node on which the current attempt runs; empty: it has not begun.
    std::string node;
    // The nodes that were lost while they ran this model.
    std::set<std::string> lost_nodes;
    int node_losses = 0;
    StepCounter steps;
    // Steps without a verdict. The stopper is told only the first one; the others wait.
    std::deque<Step> unjudged;
    std::optional<Stopped> stopped;
    // How the current attempt ended, while that waits for verdicts.
    std::optional<v1::ModelEnded> end;
    bool decided = false;
    // Of a decided model: what becomes of weights, and the bar for those that follow, once that is in the journal.
    KeptWeights::Ending weights;
    std::optional<v1::WeightsBar> weights_bar;
  };

  // The first step without a verdict, if the stopper may hear of it now and has not.
  static std::optional<v1::StepReport> NextReport(int model, Open& open);
  // Decides what follows from the end of the current attempt.
  Decision Resolve(Open& open, const v1::ModelEnded& ended);
  // Whether an attempt that ended so is followed by another one.
  bool GoesOn(const Open& open, const v1::ModelEnded& ended) const;
  v1::ModelOutcome Decide(Open& open, const v1::ModelEnded& ended);
  // The outcome of a model whose current attempt ended so.
  v1::ModelOutcome OutcomeOf(const Open& open, const v1::ModelEnded& ended) const;
  // Whether the model was lost with so many nodes that it may be the reason.
  static bool LostWithNodes(const Open& open);
  // Counts an outcome. `lost_with_nodes`: the result of LostWithNodes.
  void Count(const v1::ModelOutcome& outcome, bool lost_with_nodes);

  const uint64_t seed_;
  const std::string folder_;
  const Goals goals_;
  // Whether the experiment has a stopper.
  const bool judges_;
  // Absent where no weights are kept.
  std::optional<KeptWeights> kept_weights_;
  std::optional<v1::WeightsBar> weights_bar_;

  int models_ = 0;
  int trials_ = 0;
  bool canceled_ = false;
  // Models that are not closed.
  std::map<int, Open> open_;
  ModelsInFlight in_flight_;

  int succeeded_ = 0;
  int failed_ = 0;
  int infeasible_ = 0;
  int infeasible_in_a_row_ = 0;
  // Counts of closed models that keep the limits, as far as is known, and of those that do not; and the one of the
  // latter that is nearest to the limits.
  int within_limits_ = 0;
  int outside_limits_ = 0;
  double least_violation_ = 0;
  std::string nearest_;
  int lost_in_a_row_ = 0;
  std::string first_failure_;
  std::string hopeless_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_ATTEMPT_LEDGER_H_
