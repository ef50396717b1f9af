// The edge between user code and Lanista: everything thrown becomes a Failure.
#ifndef LANISTA_SRC_TRIAL_TORCH_GUARD_H_
#define LANISTA_SRC_TRIAL_TORCH_GUARD_H_

#include <atomic>
#include <functional>

#include "absl/status/status.h"
#include "protos/trial.pb.h"

namespace lanista {

// How guarded code ended.
struct GuardResult {
  v1::ModelEnded::Outcome outcome = v1::ModelEnded::SUCCEEDED;
  // Set where outcome is FAILED or UNMERGED.
  v1::Failure failure;
};

// Runs `code`. OK is SUCCEEDED, CANCELLED is CANCELED, all else FAILED: exceptions of LibTorch (without their
// backtrace), of the standard library and of any other type, with memory that ran out, NaN metrics and unreadable data
// (DATA_LOSS) told apart.
GuardResult Guard(const std::function<absl::Status()>& code);

// As Guard, for code of a trial: CANCELLED is an error like others unless the trial is `canceled` by then.
GuardResult GuardTrial(const std::atomic<bool>& canceled, const std::function<absl::Status()>& code);

// As Guard, for code whose errors are statuses: INTERNAL with the text of what was thrown.
absl::Status GuardStatus(const std::function<absl::Status()>& code);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_TORCH_GUARD_H_
