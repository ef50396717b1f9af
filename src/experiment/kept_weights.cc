#include "src/experiment/kept_weights.h"

#include <algorithm>
#include <optional>

namespace lanista {

void KeptWeights::Plan(int model, int attempt, std::string folder) { planned_[model][attempt] = std::move(folder); }

KeptWeights::Ending KeptWeights::End(const v1::ModelOutcome& outcome, bool left) {
  Ending ending;
  std::optional<std::vector<double>> values = goals_.BestValues(outcome);
  for (auto& [attempt, folder] : planned_[outcome.model()]) {
    if (left && values.has_value() && attempt == outcome.attempt()) {
      ranking_.push_back({outcome.model(), *std::move(values)});
      kept_[outcome.model()] = std::move(folder);
    } else {
      ending.needless.push_back(std::move(folder));
    }
  }
  planned_.erase(outcome.model());
  int dropped = 0;
  if (ranking_.size() > best_) {
    SortBestFirst(ranking_);
    dropped = ranking_.back().model;
    ending.needless.push_back(std::move(kept_.extract(dropped).mapped()));
    ranking_.pop_back();
  }
  if (const auto found = kept_.find(outcome.model()); found != kept_.end()) {
    ending.kept.emplace();
    ending.kept->set_folder(found->second);
    ending.kept->set_instead_of(dropped);
  }
  return ending;
}

std::optional<v1::WeightsBar> KeptWeights::Bar() const {
  if (ranking_.empty() || ranking_.size() < best_ || goals_.has_several_objectives()) return std::nullopt;
  const auto worst = std::min_element(ranking_.begin(), ranking_.end(), [](const RankedModel& a, const RankedModel& b) {
    return a.values[0] < b.values[0];
  });
  const Goal& goal = goals_.objectives()[0];
  v1::WeightsBar bar;
  bar.set_metric(goal.metric);
  bar.set_goal(goal.objective);
  bar.set_value(Turned(worst->values[0], goal.objective));
  return bar;
}

bool KeptWeights::Needs(const std::string& folder) const {
  const auto in = [&folder](const auto& folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const auto& entry) { return entry.second == folder; });
  };
  return in(kept_) ||
         std::any_of(planned_.begin(), planned_.end(), [&](const auto& model) { return in(model.second); });
}

}  // namespace lanista
