#include "actors/queued_discovery.h"

#include <cstddef>

namespace lanista {
namespace {

// A discovery that so many workers of this machine, or nodes, went down with fails.
constexpr size_t kMaxDiscoveryLost = 3;

}  // namespace

bool IsOf(const v1::Discover& discovery, const std::string& experiment) {
  return discovery.experiment() == experiment || discovery.asked_by() == experiment;
}

const std::string& AskerOf(const v1::Discover& discovery) {
  return discovery.experiment().empty() ? discovery.asked_by() : discovery.experiment();
}

bool IsBlameless(bool local, const absl::Status& failure) { return !local && absl::IsAborted(failure); }

bool CountFailure(QueuedDiscovery& discovery, bool local, const std::string& node, const absl::Status& failure) {
  if (discovery.request.has_convert()) {
    return !discovery.canceled && ++discovery.places < static_cast<int>(kMaxDiscoveryLost);
  }
  const bool blameless = IsBlameless(local, failure);
  if (local) {
    ++discovery.lost_workers;
  } else if (!blameless) {
    discovery.lost_nodes.insert(node);
  }
  // Any other error (there is no such program) will not pass.
  const size_t lost = static_cast<size_t>(discovery.lost_workers) + discovery.lost_nodes.size();
  return !discovery.canceled && (blameless || (absl::IsUnavailable(failure) && lost < kMaxDiscoveryLost));
}

}  // namespace lanista
