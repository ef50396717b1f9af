#include "src/config/steps.h"

namespace lanista {

std::optional<int> StepsOf(const v1::EvaluatorConfig& evaluator) {
  const auto epochs = [](const auto& config) { return config.has_max_epochs() ? config.max_epochs() : 1; };
  if (evaluator.has_classification()) return epochs(evaluator.classification());
  if (evaluator.has_regression()) return epochs(evaluator.regression());
  return std::nullopt;
}

}  // namespace lanista
