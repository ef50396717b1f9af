#include "src/experiment/kept_weights.h"

#include <algorithm>

namespace lanista {

void KeptWeights::Plan(int model, int attempt, std::string folder) { planned_[model][attempt] = std::move(folder); }

std::vector<std::string> KeptWeights::End(const v1::ModelOutcome& outcome) {
  std::vector<std::string> needless;
  const auto value = outcome.metrics().values().find("default");
  const bool succeeded = outcome.outcome() == v1::SUCCEEDED && value != outcome.metrics().values().end();
  for (auto& [attempt, folder] : planned_[outcome.model()]) {
    if (succeeded && attempt == outcome.attempt()) {
      kept_.emplace(std::make_pair(minimize_ ? -value->second : value->second, -outcome.model()), std::move(folder));
    } else {
      needless.push_back(std::move(folder));
    }
  }
  planned_.erase(outcome.model());
  if (static_cast<int>(kept_.size()) > best_) {
    needless.push_back(kept_.begin()->second);
    kept_.erase(kept_.begin());
  }
  return needless;
}

bool KeptWeights::Needs(const std::string& folder) const {
  const auto in = [&folder](const auto& folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const auto& entry) { return entry.second == folder; });
  };
  return in(kept_) ||
         std::any_of(planned_.begin(), planned_.end(), [&](const auto& model) { return in(model.second); });
}

}  // namespace lanista
