// The direct engine's plan: one trial a model.
#include <memory>
#include <utility>
#include <vector>

#include "engines/planner.h"

namespace lanista {
namespace {

class DirectPlanner final : public Planner {
 public:
  std::vector<std::vector<v1::TrialModel>> Plan(std::vector<v1::TrialModel> models) override {
    std::vector<std::vector<v1::TrialModel>> trials;
    for (v1::TrialModel& model : models) trials.push_back({std::move(model)});
    return trials;
  }
};

absl::StatusOr<std::unique_ptr<Planner>> MakeDirectPlanner(const v1::DirectEngineConfig&) {
  return std::make_unique<DirectPlanner>();
}

LANISTA_REGISTER(PlannerRegistry, direct, v1::DirectEngineConfig, MakeDirectPlanner);

}  // namespace
}  // namespace lanista
