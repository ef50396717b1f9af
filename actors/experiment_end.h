// How an experiment ends that nobody stopped.
#ifndef LANISTA_ACTORS_EXPERIMENT_END_H_
#define LANISTA_ACTORS_EXPERIMENT_END_H_

#include <string>

#include "protos/messages.pb.h"
#include "src/experiment/attempt_ledger.h"

namespace lanista {

struct ExperimentEnd {
  v1::ExperimentState::State state = v1::ExperimentState::STATE_UNSPECIFIED;
  // For people.
  std::string reason;
};

// The end of an experiment of which nothing is in flight and nothing can come. `limit`: because of max_trial_number,
// and not because the strategy is exhausted.
ExperimentEnd EndOf(const AttemptLedger& ledger, bool limit);

}  // namespace lanista

#endif  // LANISTA_ACTORS_EXPERIMENT_END_H_
