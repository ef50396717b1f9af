#include "src/web/importance.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "nlohmann/json.hpp"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// Fewer models say little.
constexpr size_t kEnoughModels = 30;

// Not divided by the sum of all choices yet.
std::optional<double> Variance(const ChosenCandidates& chosen, const std::vector<bool>& best) {
  struct Counts {
    double all = 0;
    double best = 0;
  };
  std::map<int32_t, Counts> candidates;
  Counts active;
  for (size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] < 0) continue;
    Counts& candidate = candidates[chosen[i]];
    candidate.all += 1;
    active.all += 1;
    if (!best[i]) continue;
    candidate.best += 1;
    active.best += 1;
  }
  if (candidates.size() < 2) return std::nullopt;
  if (active.best == 0) return 0;
  double divergence = 0;
  for (const auto& [number, candidate] : candidates) {
    const double p = candidate.all / active.all;
    const double q = candidate.best / active.best;
    divergence += p * (q / p - 1) * (q / p - 1);
  }
  const double share_of_best = active.best / active.all;
  const double share_active = active.all / static_cast<double>(chosen.size());
  return share_active * share_of_best * share_of_best * divergence;
}

// What is chosen as one number; combinations are numbered in `combinations`.
int32_t CandidateOf(const TableModel& model, size_t choice, std::map<std::vector<int32_t>, int32_t>* combinations) {
  if (choice >= model.chosen.size() || model.chosen[choice].empty()) return -1;
  return combinations->emplace(model.chosen[choice], static_cast<int32_t>(combinations->size())).first->second;
}

}  // namespace

std::vector<std::optional<double>> ChoiceImportance(const std::vector<ChosenCandidates>& choices,
                                                    const std::vector<bool>& best) {
  std::vector<std::optional<double>> importance;
  double sum = 0;
  for (const ChosenCandidates& choice : choices) {
    importance.push_back(Variance(choice, best));
    sum += importance.back().value_or(0);
  }
  for (std::optional<double>& value : importance) {
    if (value.has_value() && sum > 0) *value /= sum;
  }
  return importance;
}

Json ImportanceDocument(const ExperimentTable& table, absl::string_view metric, double top,
                        std::optional<v1::ObjectiveConfig::Goal> goal) {
  for (const Goal& objective : table.goals().objectives()) {
    if (!goal.has_value() && objective.metric == metric) goal = objective.objective;
  }
  if (!goal.has_value()) goal = v1::ObjectiveConfig::MAXIMIZE;
  std::vector<const TableModel*> models;
  std::vector<double> values;
  for (const TableModel& model : table.models()) {
    if (!model.outcome.has_value() || model.outcome->outcome() != v1::ModelEnded::SUCCEEDED) continue;
    const auto found = model.outcome->metrics().values().find(std::string(metric));
    if (found == model.outcome->metrics().values().end() || !std::isfinite(found->second)) continue;
    models.push_back(&model);
    values.push_back(Turned(found->second, *goal));
  }
  std::vector<bool> best(models.size(), false);
  if (!models.empty()) {
    const auto count = static_cast<ptrdiff_t>(std::ceil(top * static_cast<double>(models.size()) - 1e-9));
    std::vector<double> sorted = values;
    const auto last = sorted.begin() + std::clamp<ptrdiff_t>(count, 1, static_cast<ptrdiff_t>(sorted.size())) - 1;
    std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
    for (size_t i = 0; i < values.size(); ++i) best[i] = values[i] >= *last;
  }
  std::vector<ChosenCandidates> choices(table.choices().size());
  for (size_t i = 0; i < choices.size(); ++i) {
    std::map<std::vector<int32_t>, int32_t> combinations;
    for (const TableModel* const model : models) choices[i].push_back(CandidateOf(*model, i, &combinations));
  }
  const std::vector<std::optional<double>> importance = ChoiceImportance(choices, best);
  Json document;
  document["metric"] = std::string(metric);
  document["goal"] = v1::ObjectiveConfig::Goal_Name(*goal);
  document["top"] = top;
  document["models"] = models.size();
  document["too_few"] = models.size() < kEnoughModels;
  document["choices"] = Json::array();
  for (size_t i = 0; i < choices.size(); ++i) {
    document["choices"].push_back(
        {{"label", table.choices()[i].label}, {"importance", importance[i] ? Json(*importance[i]) : Json()}});
  }
  return document;
}

}  // namespace lanista
