#include "src/strategies/strategy.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "src/base/logging.h"

namespace lanista {

bool IsInformative(const Observation& observation) {
  return observation.value.has_value() || observation.violation > 0;
}

int CompareStanding(const Observation& a, const Observation& b) {
  if (IsInformative(a) != IsInformative(b)) return IsInformative(a) ? -1 : 1;
  if (a.violation != b.violation) return a.violation < b.violation ? -1 : 1;
  // Both are equally far from the limits, but only one was trained.
  if (a.value.has_value() != b.value.has_value()) return a.value.has_value() ? -1 : 1;
  const bool a_stopped = a.outcome == v1::ModelEnded::STOPPED_EARLY;
  const bool b_stopped = b.outcome == v1::ModelEnded::STOPPED_EARLY;
  if (a_stopped != b_stopped) return b_stopped ? -1 : 1;
  if (a_stopped && a.steps != b.steps) return a.steps > b.steps ? -1 : 1;
  return 0;
}

bool Ranks(const Observation& a, const Observation& b) {
  const int standing = CompareStanding(a, b);
  if (standing != 0 || !a.value.has_value()) return standing < 0;
  return *a.value > *b.value;
}

bool LearnsFrom(const Observation& observation, v1::OnFailure::Action on_failure) {
  if (IsInformative(observation)) return true;
  return on_failure == v1::OnFailure::WORST && observation.outcome != v1::ModelEnded::CANCELED;
}

int DefaultPopulation(const StrategyContext& context, int usual) {
  if (!context.max_models.has_value()) return usual;
  return std::min(usual, std::max(*context.max_models / 5, 10));
}

void WarnOfSmallBudget(const StrategyContext& context, absl::string_view strategy, int models) {
  // Half of the budget for learning and half for using it is the least that makes sense.
  if (!context.max_models.has_value() || *context.max_models / 2 >= models) return;
  LogWarning(
      "{} learns from about {} models before it proposes better ones, and it has {} in all: little more than random "
      "search",
      std::string(strategy), models, *context.max_models);
}

absl::Status CheckOneObjective(const StrategyContext& context, absl::string_view strategy) {
  if (context.objectives <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(strategy, " learns from one objective, and there are ",
                                                 context.objectives, "; use nsga2, random or grid_search"));
}

}  // namespace lanista
