#include "src/evaluators/evaluator.h"

namespace lanista {
namespace {

// One model by itself: errors and exceptions are the trial's.
class GroupOfOne final : public ModelGroup {
 public:
  explicit GroupOfOne(TrialContext& context) : context_(context) {}

  int size() const override { return 1; }
  TrialContext& context(int) override { return context_; }
  bool active(int) const override { return true; }
  bool canceled() const override { return context_.canceled(); }
  absl::Status Step(int, const std::function<absl::Status()>& step) override { return step(); }

 private:
  TrialContext& context_;
};

}  // namespace

absl::Status MultiModelEvaluator::Evaluate(TrialContext& context) {
  GroupOfOne group(context);
  return EvaluateTogether(group);
}

}  // namespace lanista
