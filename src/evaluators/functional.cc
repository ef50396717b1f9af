#include "src/evaluators/functional.h"

#include <utility>

namespace lanista {

FunctionalEvaluator::FunctionalEvaluator(EvaluatorFunction function, EvaluatorParams params)
    : function_(std::move(function)), params_(std::move(params)) {}

absl::Status FunctionalEvaluator::Prepare(uint64_t) { return absl::OkStatus(); }

absl::Status FunctionalEvaluator::Evaluate(TrialContext& context) {
  function_(context, params_);
  return context.canceled() ? absl::CancelledError("the trial was canceled") : absl::OkStatus();
}

std::function<absl::StatusOr<std::unique_ptr<Evaluator>>(const v1::Custom&)> FunctionalEvaluatorFactory(
    EvaluatorFunction function) {
  return [function = std::move(function)](const v1::Custom& config) {
    return std::make_unique<FunctionalEvaluator>(function, config.params());
  };
}

}  // namespace lanista
