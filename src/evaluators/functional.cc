#include "src/evaluators/functional.h"

#include <utility>

namespace lanista {

FunctionalEvaluator::FunctionalEvaluator(Function function) : function_(std::move(function)) {}

absl::Status FunctionalEvaluator::Prepare(uint64_t) { return absl::OkStatus(); }

absl::Status FunctionalEvaluator::Evaluate(TrialContext& context) {
  function_(context);
  return context.canceled() ? absl::CancelledError("the trial was canceled") : absl::OkStatus();
}

}  // namespace lanista
