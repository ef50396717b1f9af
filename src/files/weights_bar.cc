#include "src/files/weights_bar.h"

#include <cmath>

namespace lanista {

bool MayReach(const v1::Metrics& metrics, const v1::WeightsBar& bar) {
  const auto found = metrics.values().find(bar.metric());
  if (bar.metric().empty() || found == metrics.values().end() || !std::isfinite(found->second)) return true;
  switch (bar.goal()) {
    case v1::ObjectiveConfig::MAXIMIZE:
      return !(found->second < bar.value());
    case v1::ObjectiveConfig::MINIMIZE:
      return !(found->second > bar.value());
    default:
      // Of a head that knows other goals.
      return true;
  }
}

}  // namespace lanista
