#include "actors/kept_weights.h"

namespace lanista {

std::optional<std::string> KeptWeights::Succeeded(int model, const std::string& file, double value) {
  kept_.emplace(std::make_pair(minimize_ ? -value : value, -model), file);
  if (static_cast<int>(kept_.size()) <= best_) return std::nullopt;
  const std::string dropped = kept_.begin()->second;
  kept_.erase(kept_.begin());
  return dropped;
}

}  // namespace lanista
