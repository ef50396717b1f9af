// Where a trial, a discovery or a conversion may run, and to which idle device it goes (training_service.h says by
// which rules).
#ifndef LANISTA_ACTORS_PLACEMENT_H_
#define LANISTA_ACTORS_PLACEMENT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "actors/device_pool.h"
#include "actors/queued_discovery.h"
#include "actors/trial_history.h"

namespace lanista {

// Decides, and changes nothing. A plain class for one thread.
class Placement {
 public:
  using Kind = DevicePool::Kind;
  using Slot = DevicePool::Slot;
  using TimePoint = DevicePool::TimePoint;

  // Both outlive it.
  Placement(DevicePool& pool, const TrialHistory& history) : pool_(pool), history_(history) {}

  // Those where the trial may run.
  std::vector<const Kind*> KindsFor(const v1::TrialSpec& trial, TimePoint now) const;
  // Whether a trial of the experiment is likely to take longer than the device is there, and would have had the time
  // when it joined.
  bool EndsTooSoon(const Kind& kind, const std::string& experiment, TimePoint now) const;
  // An idle device that takes the trial now; nullptr: there is none. And so on.
  Slot* IdleFor(const v1::TrialSpec& trial, TimePoint now) const;
  Slot* IdleForDiscovery(const QueuedDiscovery& discovery, TimePoint now) const;
  // An idle place.
  Slot* PlaceFor(const QueuedDiscovery& discovery, TimePoint now) const;
  // Why no place, idle or not, may take the conversion; OK: one may.
  absl::Status CheckConversion(const QueuedDiscovery& conversion) const;
  // Whether a device of the place's machine may discover what the place could not.
  bool NeedsDevice(const Slot& place, const v1::Discovered& discovered) const;

 private:
  // Whether the place, idle or not, may take the conversion.
  bool MayConvert(const Slot& place, const QueuedDiscovery& conversion) const;

  DevicePool& pool_;
  const TrialHistory& history_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_PLACEMENT_H_
