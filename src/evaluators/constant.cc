// evaluator { constant { value: 0.5 } }: reports at once, without a model.
#include <memory>

#include "src/base/status.h"
#include "src/config/validate.h"
#include "src/evaluators/evaluator.h"

namespace lanista {
namespace {

class ConstantEvaluator : public Evaluator {
 public:
  explicit ConstantEvaluator(double value) : value_(value) {}

  absl::Status Prepare(uint64_t) override { return absl::OkStatus(); }

  absl::Status Evaluate(TrialContext& context) override {
    context.ReportFinal(value_);
    return absl::OkStatus();
  }

 private:
  const double value_;
};

absl::StatusOr<std::unique_ptr<Evaluator>> MakeConstant(const v1::ConstantConfig& config) {
  LANISTA_RETURN_IF_ERROR(CheckConfig(config, "evaluator.constant"));
  return std::make_unique<ConstantEvaluator>(config.value());
}

LANISTA_REGISTER_BUILT_IN(EvaluatorRegistry, constant, v1::ConstantConfig, MakeConstant);

}  // namespace
}  // namespace lanista
