// What the journal of an experiment that is to go on says: how its strategy and its ledger stand, and what comes first.
#ifndef LANISTA_SRC_EXPERIMENT_RECOVERY_H_
#define LANISTA_SRC_EXPERIMENT_RECOVERY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "protos/messages.pb.h"
#include "src/experiment/ledger.h"
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
  // Calls of the strategy that were made.
  int strategy_calls = 0;
  // The strategy has said that nothing more will come.
  bool exhausted = false;
  // How long the experiment has been RUNNING.
  absl::Duration ran;
};

// Replays the strategy's calls, and rebuilds the ledger. `strategy` and `ledger` are new ones of the same experiment.
//
// An attempt without an end was LOST (HEAD_ENDED). A model that a stop had CANCELED loses that outcome: the strategy
// never heard of it, and would never propose it again. An outcome that the strategy was not told of is told; an Ask
// that is not in the log is as if it had never been.
//
// Errors: FAILED_PRECONDITION where the strategy answers otherwise than it did (with both answers); DATA_LOSS where the
// journal contradicts itself. Nothing is written: the facts of the StartingPoint are.
absl::StatusOr<StartingPoint> Recover(const JournalReader& journal, GuardedStrategy& strategy, Ledger& ledger);

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_RECOVERY_H_
