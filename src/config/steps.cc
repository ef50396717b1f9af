#include "src/config/steps.h"

#include <memory>

#include "src/base/component.h"

namespace lanista {

std::optional<int> StepsOf(const v1::EvaluatorConfig& evaluator) {
  const std::shared_ptr<const google::protobuf::Message> config = MessageOf(evaluator);
  if (config == nullptr) return std::nullopt;
  const std::optional<int64_t> steps = NumberWithMeaning(*config, v1::FieldRules::STEPS);
  if (!steps.has_value()) return std::nullopt;
  return static_cast<int>(*steps);
}

}  // namespace lanista
