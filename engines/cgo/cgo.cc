// The CGO engine's plan: models that wait together become merged trials.
#include <algorithm>
#include <memory>

#include "engines/planner.h"

namespace lanista {
namespace {

class CgoPlanner final : public Planner {
 public:
  CgoPlanner(const v1::CgoEngineConfig& config, const PlannerContext& context)
      : multi_model_evaluator_(context.multi_model_evaluator) {
    if (config.has_max_concurrency_cgo()) max_models_ = config.max_concurrency_cgo();
    if (!multi_model_evaluator_) max_models_ = 1;
    if (config.has_batch_waiting_time()) waiting_time_ = absl::Seconds(config.batch_waiting_time());
  }

  int max_models_per_trial() const override { return max_models_; }

  std::optional<ModelWindow> window() const override { return ModelWindow{max_models_, waiting_time_}; }

  std::string note() const override {
    return multi_model_evaluator_ ? "" : "models are not merged: the evaluator trains one model at a time";
  }

  // Spreads them evenly: over all trials that could start, for a device that has nothing to do helps nobody; over more
  // where they do not fit.
  std::vector<std::vector<v1::TrialModel>> Plan(std::vector<v1::TrialModel> models, int free_trials) override {
    const int count = static_cast<int>(models.size());
    const int needed = (count + max_models_ - 1) / max_models_;
    std::vector<std::vector<v1::TrialModel>> trials(
        static_cast<size_t>(std::max(needed, std::min(free_trials, count))));
    for (int i = 0; i < count; ++i) {
      // Neighbours stay together.
      const auto trial = static_cast<size_t>(int64_t{i} * static_cast<int64_t>(trials.size()) / count);
      trials[trial].push_back(std::move(models[static_cast<size_t>(i)]));
    }
    return trials;
  }

 private:
  const bool multi_model_evaluator_;
  int max_models_ = 8;
  absl::Duration waiting_time_ = absl::Seconds(60);
};

PlannerRegistry::Result MakeCgoPlanner(const v1::CgoEngineConfig& config, const PlannerContext& context) {
  return std::make_unique<CgoPlanner>(config, context);
}

LANISTA_REGISTER(PlannerRegistry, cgo, v1::CgoEngineConfig, MakeCgoPlanner);

}  // namespace
}  // namespace lanista
