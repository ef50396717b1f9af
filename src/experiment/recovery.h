// What the journal of an experiment that is to go on says: how its strategy and its ledger stand, and what comes first.
#ifndef LANISTA_SRC_EXPERIMENT_RECOVERY_H_
#define LANISTA_SRC_EXPERIMENT_RECOVERY_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/experiment/ledger.h"
#include "src/stopping/guarded_stopper.h"
#include "src/storage/journal.h"
#include "src/strategies/guarded_strategy.h"

namespace lanista {

// What an experiment begins with, or goes on with.
struct StartingPoint {
  // To be recorded before anything else is done.
  v1::JournalBatch facts;
  // Models that run next, before the strategy is asked for others: planned anew, or each alone.
  std::vector<v1::TrialModel> models;
  std::vector<v1::RunAgain> alone;
  // Outcomes that the strategy has not heard of, in the order in which they were recorded.
  std::vector<v1::TellRequest> untold;
  // Calls of the strategy and of the stopper that were made.
  int strategy_calls = 0;
  int stopping_calls = 0;
  // The strategy has said that nothing more will come.
  bool exhausted = false;
  // How long the experiment has been RUNNING.
  absl::Duration ran;
};

// Adds to `facts` that an experiment which nobody runs was not RUNNING from its last fact on, where it does not say so.
absl::Status NoteInterruption(const JournalReader& journal, v1::JournalBatch* facts);

// Replays the calls of strategy and stopper, and rebuilds the ledger. `strategy`, `stopper` (null: the experiment has
// none) and `ledger` are new ones of the same experiment.
//
// Verdicts that are in the log stand: a model that one has stopped is not attempted again. Steps and ends of models
// that the stopper has not heard of are told to it, in the order in which they came.
//
// An attempt without an end was LOST (HEAD_ENDED). A model that a stop had CANCELED loses that outcome: the strategy
// never heard of it, and would never propose it again. An outcome that the strategy was not told of is told; an Ask
// that is not in the log is as if it had never been.
//
// Errors: FAILED_PRECONDITION where strategy or stopper answer otherwise than they did (with both answers); DATA_LOSS
// where the journal contradicts itself. Nothing is written: the facts of the StartingPoint are.
absl::StatusOr<StartingPoint> Recover(const JournalReader& journal, GuardedStrategy& strategy, GuardedStopper* stopper,
                                      Ledger& ledger);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_RECOVERY_H_
