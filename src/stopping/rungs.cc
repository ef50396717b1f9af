#include "src/stopping/rungs.h"

#include <algorithm>
#include <cstdint>
#include <functional>

namespace lanista {

bool Rungs::IsRung(int step) const {
  if (end_.has_value() && step >= *end_) return false;
  int64_t rung = first_step_;
  while (rung < step) rung *= factor_;
  return rung == step;
}

std::optional<Rungs::Place> Rungs::Reach(int step, double value) {
  if (!IsRung(step)) return std::nullopt;
  std::vector<double>& values = values_[step];
  const auto better = std::lower_bound(values.begin(), values.end(), value, std::greater<>());
  const auto ahead = static_cast<int>(better - values.begin());
  values.insert(better, value);
  Place place;
  place.reached = static_cast<int>(values.size());
  place.best = std::max(1, place.reached / factor_);
  place.goes_on = ahead < place.best;
  return place;
}

}  // namespace lanista
