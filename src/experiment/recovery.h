// Rebuilds an experiment that goes on from its journal: its strategy, its ledger, and what to do first.
#ifndef LANISTA_SRC_EXPERIMENT_RECOVERY_H_
#define LANISTA_SRC_EXPERIMENT_RECOVERY_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/experiment/attempt_ledger.h"
#include "src/experiment/trial_on_node.h"
#include "src/stopping/guarded_stopper.h"
#include "src/storage/journal.h"
#include "src/strategies/guarded_strategy.h"

namespace lanista {

// The state in which an experiment begins or goes on.
struct StartingPoint {
  // Facts to record before anything else is done.
  v1::JournalBatch facts;
  // Models that run before the strategy is asked for others: they are planned anew, or run alone.
  std::vector<v1::TrialModel> models;
  std::vector<v1::RunAgain> alone;
  // Trials that nodes may bring back: their attempts are not lost (yet).
  std::vector<TrialOnNode> on_nodes;
  // Outcomes that the strategy was not told, in the order in which they were recorded.
  std::vector<v1::TellRequest> untold;
  // The numbers of calls that the strategy and the stopper got before.
  int strategy_calls = 0;
  int stopping_calls = 0;
  // The strategy has said that it will propose nothing more.
  bool exhausted = false;
  // How long the experiment has been RUNNING.
  absl::Duration ran;
};

// Adds to `facts` that the experiment was INTERRUPTED (or ended as its last words say) when its last fact was recorded,
// unless the journal has an end. REQUIRES: no process runs it.
absl::Status NoteInterruption(const JournalReader& journal, v1::JournalBatch* facts);

// Replays the calls of strategy and stopper, and rebuilds the ledger. `strategy`, `stopper` (null: the experiment has
// none) and `ledger` are new ones of the same experiment.
//
// Verdicts that are in the log stand: a model that one has stopped is not attempted again. Steps and ends of models
// that the stopper has not heard of are told to it, in the order in which they came.
//
// An attempt without an end was LOST (HEAD_ENDED), unless its trial began on one of `nodes`, which may return with it:
// it stays the model's current attempt. A model that a stop had CANCELED loses that outcome, because the
// strategy was never told of it and would not propose the model again. Outcomes that the strategy was not told are told
// now. An Ask that is not in the log had no effect.
//
// FAILED_PRECONDITION: strategy or stopper answer differently than before (with both answers). DATA_LOSS: the journal
// contradicts itself. Writes nothing: the caller records the facts of the StartingPoint.
absl::StatusOr<StartingPoint> Recover(const JournalReader& journal, GuardedStrategy& strategy, GuardedStopper* stopper,
                                      AttemptLedger& ledger, const std::set<std::string>& nodes = {});

// Whether the journal has a trial that began on one of `nodes` and has not ended.
absl::StatusOr<bool> HasTrialsOn(const JournalReader& journal, const std::set<std::string>& nodes);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_RECOVERY_H_
