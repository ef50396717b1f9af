#include "actors/models_in_flight.h"

#include <utility>

namespace lanista {

void ModelsInFlight::Add(int model, v1::Sample sample) { models_[model].sample = std::move(sample); }

void ModelsInFlight::Plan(int model, int trial) {
  const auto found = models_.find(model);
  if (found == models_.end()) return;
  Leave(found->second.trial, /*ended=*/false);
  found->second.trial = trial;
  ++trials_[trial].in_flight;
}

std::optional<v1::Sample> ModelsInFlight::TakeSample(int model) {
  const auto found = models_.find(model);
  if (found == models_.end()) return std::nullopt;
  return std::exchange(found->second.sample, std::nullopt);
}

void ModelsInFlight::End(int model) {
  const auto found = models_.find(model);
  Leave(found->second.trial, /*ended=*/true);
  models_.erase(found);
}

void ModelsInFlight::Leave(int trial, bool ended) {
  const auto found = trials_.find(trial);
  if (found == trials_.end()) return;
  Trial& left = found->second;
  if (ended) {
    ++left.ended;
    ++held_;
  }
  if (--left.in_flight > 0) return;
  held_ -= left.ended;
  trials_.erase(found);
}

}  // namespace lanista
