#include "actors/placement.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engines/device_memory.h"

namespace lanista {

bool Placement::EndsTooSoon(const Kind& kind, const std::string& experiment, TimePoint now) const {
  if (kind.ends == TimePoint::max()) return false;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(kind.ends - now);
  if (left.count() <= 0) return true;
  const std::optional<std::chrono::milliseconds> longest = history_.Longest(experiment);
  return longest.has_value() && *longest > left && *longest <= kind.lifetime;
}

std::vector<const Placement::Kind*> Placement::KindsFor(const v1::TrialSpec& trial, TimePoint now) const {
  std::vector<const Kind*> kinds;
  const DataNames& data = history_.DataOfTrials(trial.experiment());
  const int64_t required = trial.requirements().min_device_memory();
  const bool local_only = history_.WasRefused(trial.experiment(), now);
  for (const auto& entry : pool_.kinds()) {
    const Kind& kind = entry.second;
    if (local_only && !kind.local) continue;
    if (!DevicePool::Runs(kind, trial.program()) || !DevicePool::Has(kind, data)) continue;
    if (EndsTooSoon(kind, trial.experiment(), now)) continue;
    if (trial.has_requirements() && !pool_.HasWhatIsRequired(kind, trial.requirements())) continue;
    kinds.push_back(&kind);
  }
  if (trial.estimated_memory() == 0) return kinds;
  // A trial waits for the device that has room for it, but not for one that may never take it.
  const auto stays = [&](const Kind* kind) { return pool_.FirstWith(*kind, kind->staying, required) != nullptr; };
  const auto staying = std::stable_partition(kinds.begin(), kinds.end(), stays);
  if (staying != kinds.begin()) kinds.erase(staying, kinds.end());
  int64_t largest = 0;
  bool has_room = false;
  for (const Kind* const kind : kinds) {
    largest = std::max(largest, kind->memory);
    has_room |= HasRoomFor(trial.estimated_memory(), kind->memory);
  }
  kinds.erase(std::remove_if(kinds.begin(), kinds.end(),
                             [&](const Kind* kind) {
                               return has_room ? !HasRoomFor(trial.estimated_memory(), kind->memory)
                                               : kind->memory < largest;
                             }),
              kinds.end());
  return kinds;
}

Placement::Slot* Placement::IdleFor(const v1::TrialSpec& trial, TimePoint now) const {
  Slot* best = nullptr;
  for (const Kind* const kind : KindsFor(trial, now)) {
    Slot* const slot = pool_.Idle(*kind, trial.requirements().min_device_memory());
    if (slot == nullptr) continue;
    // The small ones first: the large ones may be needed.
    const auto rank = [](const Slot& candidate) { return std::make_pair(!candidate.warm, candidate.kind->memory); };
    if (best == nullptr || rank(*slot) < rank(*best)) best = slot;
  }
  return best;
}

Placement::Slot* Placement::IdleForDiscovery(const QueuedDiscovery& discovery, TimePoint now) const {
  Slot* best = nullptr;
  const bool local_only = history_.WasRefused(AskerOf(discovery.request), now);
  for (const auto& entry : pool_.kinds()) {
    if (!DevicePool::Has(entry.second, discovery.data) || (local_only && !entry.second.local)) continue;
    Slot* const slot = pool_.Idle(entry.second);
    if (slot == nullptr) continue;
    // Where something is learnt.
    const auto rank = [](const Slot& candidate) {
      return std::make_pair(!candidate.kind->programs.empty(), !candidate.warm);
    };
    if (best == nullptr || rank(*slot) < rank(*best)) best = slot;
  }
  return best;
}

Placement::Slot* Placement::PlaceFor(const QueuedDiscovery& discovery, TimePoint now) const {
  if (discovery.needs_device) return nullptr;
  Slot* best = nullptr;
  const bool converts = discovery.request.has_convert();
  const bool local_only = !converts && history_.WasRefused(AskerOf(discovery.request), now);
  for (const int number : pool_.places()) {
    Slot& slot = pool_.at(number);
    if (slot.worker == nullptr || !slot.idle || slot.held || (local_only && !slot.local)) continue;
    if (slot.local && !slot.warm && !pool_.may_start()) continue;
    if (!Includes(slot.data, discovery.data)) continue;
    if (converts && !MayConvert(slot, discovery)) continue;
    if (best == nullptr || (slot.warm && !best->warm)) best = &slot;
  }
  return best;
}

bool Placement::MayConvert(const Slot& place, const QueuedDiscovery& conversion) const {
  const std::string& program = conversion.request.program();
  return !place.local && place.worker != nullptr && !place.held && Includes(place.data, conversion.data) &&
         (program.empty() || pool_.NodeOf(place).programs.count(program) > 0);
}

absl::Status Placement::CheckConversion(const QueuedDiscovery& conversion) const {
  for (const int number : pool_.places()) {
    if (MayConvert(pool_.at(number), conversion)) return absl::OkStatus();
  }
  const std::string& program = conversion.request.program();
  std::string node = "no node is there";
  if (!program.empty()) absl::StrAppend(&node, " with the program of the experiment's space (build id ", program, ")");
  if (!conversion.data.empty()) {
    absl::StrAppend(&node, program.empty() ? " with" : " and", " the data '", absl::StrJoin(conversion.data, "' and '"),
                    "'");
  }
  return absl::UnavailableError(absl::StrCat(node, " (`lanista node` on a machine offers one)"));
}

bool Placement::NeedsDevice(const Slot& place, const v1::Discovered& discovered) const {
  // Only places convert, and no device would do better.
  if (!place.device.prepares() || discovered.has_converted()) return false;
  if (discovered.out_of_memory()) return true;
  if (!discovered.has_error() && !discovered.tries_failed()) return false;
  const std::set<int>& slots = pool_.NodeOf(place).slots;
  return std::any_of(slots.begin(), slots.end(),
                     [this](int number) { return pool_.at(number).device.kind() == v1::DeviceKind::GPU; });
}

}  // namespace lanista
