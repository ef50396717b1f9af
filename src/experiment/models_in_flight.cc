#include "src/experiment/models_in_flight.h"

namespace lanista {

void ModelsInFlight::Add(int model) { models_[model] = 0; }

void ModelsInFlight::Plan(int model, int trial) {
  const auto found = models_.find(model);
  if (found == models_.end()) return;
  Leave(found->second, /*ended=*/false);
  found->second = trial;
  ++trials_[trial].in_flight;
}

void ModelsInFlight::End(int model) {
  const auto found = models_.find(model);
  Leave(found->second, /*ended=*/true);
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
