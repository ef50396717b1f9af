#include "actors/experiment_end.h"

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"

namespace lanista {

ExperimentEnd EndOf(const AttemptLedger& ledger, bool limit) {
  if (ledger.succeeded() == 0 && ledger.failed() > 0) {
    return {v1::ExperimentState::FAILED,
            absl::StrCat("no model succeeded, ", ledger.failed(), " failed; the first: ", ledger.first_failure())};
  }
  const std::string nothing = ledger.NothingWithinLimits();
  if (!limit && !nothing.empty()) return {v1::ExperimentState::FAILED, nothing};
  std::string reason = ledger.goals().has_limits() ? "no other model within the limits was found in the space"
                                                   : "the space is exhausted";
  if (limit) reason = absl::StrCat("max_trial_number: ", Counted(ledger.counted_models(), "model"));
  return {v1::ExperimentState::DONE, absl::StrCat(reason, nothing.empty() ? "" : "; ", nothing)};
}

}  // namespace lanista
