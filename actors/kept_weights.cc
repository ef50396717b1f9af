#include "actors/kept_weights.h"

namespace lanista {

std::optional<int> KeptWeights::Succeeded(int trial, double value) {
  kept_.emplace(minimize_ ? -value : value, -trial);
  if (static_cast<int>(kept_.size()) <= best_) return std::nullopt;
  const int dropped = -kept_.begin()->second;
  kept_.erase(kept_.begin());
  return dropped;
}

}  // namespace lanista
