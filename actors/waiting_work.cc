#include "actors/waiting_work.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engines/device_memory.h"
#include "src/config/requirements.h"

namespace lanista {

std::string WaitingWork::LackingFor(const std::string& experiment, TimePoint now) const {
  const auto& kinds = devices_.pool.kinds();
  if (devices_.history.WasRefused(experiment, now)) {
    const bool has_local = std::any_of(kinds.begin(), kinds.end(), [](const auto& entry) {
      return entry.second.local && !entry.second.usable.empty();
    });
    if (!has_local) return absl::StrCat("a node that can take it: ", devices_.history.WhyRefused(experiment));
  }
  for (const QueuedDiscovery& discovery : work_.discoveries) {
    if (discovery.request.experiment() == experiment) return Lacking(nullptr, discovery.data, now);
  }
  const std::string returning = work_.returning.Lacking(experiment);
  for (const v1::TrialSpec* const trial : work_.queue.FirstOfLines(experiment)) {
    const std::string lacking = Lacking(trial, devices_.history.DataOfTrials(experiment), now);
    if (!lacking.empty()) return returning.empty() ? lacking : absl::StrCat(returning, "; ", lacking);
  }
  return returning;
}

std::string WaitingWork::Lacking(const v1::TrialSpec* trial, const DataNames& data, TimePoint now) const {
  const DevicePool& pool = devices_.pool;
  const std::string why = devices_.expected.WhyNotThere();
  const std::string and_why = why.empty() ? "" : absl::StrCat("; ", why);
  const bool requires_something = trial != nullptr && trial->has_requirements();
  const std::string device = requires_something ? absl::StrCat("a device that meets its requirements (",
                                                               RequirementsText(trial->requirements()), ")")
                                                : "a device";
  if (pool.kinds().empty() && why.empty() && !devices_.absent.empty()) {
    return absl::StrCat(device, ": this head has none of its own, and of its nodes none has returned (",
                        absl::StrJoin(devices_.absent, ", "), ")");
  }
  if (pool.kinds().empty()) {
    return why.empty() ? absl::StrCat(device, ": this head has none of its own, and no node has joined it")
                       : absl::StrCat(device, ": ", why);
  }
  const bool has_data = std::any_of(pool.kinds().begin(), pool.kinds().end(),
                                    [&data](const auto& entry) { return DevicePool::Has(entry.second, data); });
  if (!has_data) {
    return absl::StrCat("a node that has the data '", absl::StrJoin(data, "' and '"), "' (`node --data ", *data.begin(),
                        "=DIR`): none of those that are there has it", and_why);
  }
  if (requires_something) {
    if (const std::string why_not = WhyNotMet(trial->requirements(), data); !why_not.empty()) {
      return absl::StrCat(device, ": ", why_not, data.empty() ? "" : ", of nodes that have its data", and_why);
    }
  }
  const v1::TrialSpec& spec = trial != nullptr ? *trial : v1::TrialSpec::default_instance();
  const int64_t required = spec.requirements().min_device_memory();
  int devices = 0;
  for (const Kind* const kind : devices_.placement.KindsFor(spec, now)) {
    if (!DevicePool::Has(*kind, data)) continue;
    if (pool.FirstWith(*kind, kind->usable, required) != nullptr) return "";
    devices += static_cast<int>(kind->devices.size());
  }
  const bool too_soon =
      trial != nullptr && std::any_of(pool.kinds().begin(), pool.kinds().end(), [&](const auto& entry) {
        const Kind& kind = entry.second;
        return !kind.usable.empty() && DevicePool::Runs(kind, trial->program()) && DevicePool::Has(kind, data) &&
               pool.HasWhatIsRequired(kind, trial->requirements()) &&
               devices_.placement.EndsTooSoon(kind, trial->experiment(), now);
      });
  if (too_soon) {
    return absl::StrCat("a device that is there for longer: the jobs of all others end before its trial would",
                        and_why);
  }
  if (devices > 0) {
    return absl::StrCat(device, ": each of the ", devices,
                        " that could run it is down, or its node is silent or drained", and_why);
  }
  // A discovery takes any program: where its data is there, so is a device for it.
  return absl::StrCat("a node with the program that discovered its space (build id ", spec.program(),
                      "): none of those that are there", data.empty() ? "" : " and have its data",
                      requires_something ? " and meet its requirements" : "", " runs it", and_why);
}

std::string WaitingWork::WhyNotMet(const v1::RequirementsConfig& requirements, const DataNames& data) const {
  std::vector<OfferedDevices> offered;
  for (const auto& entry : devices_.pool.kinds()) {
    const Kind& kind = entry.second;
    if (!DevicePool::Has(kind, data)) continue;
    if (devices_.pool.HasWhatIsRequired(kind, requirements)) return "";
    OfferedDevices& devices = offered.emplace_back();
    devices.kind = kind.device_kind;
    devices.labels = kind.labels;
    devices.count = static_cast<int>(kind.devices.size());
    for (const int number : kind.devices) {
      devices.memory = std::max(devices.memory, DeviceMemory(devices_.pool.at(number).device));
    }
  }
  return WhyNoneMeets(requirements, std::move(offered));
}

int WaitingWork::CountFor(const v1::ExpectDevices& expect, TimePoint now) const {
  const DevicePool& pool = devices_.pool;
  int64_t largest = 0;
  for (const auto& entry : pool.kinds()) {
    if (!entry.second.staying.empty()) largest = std::max(largest, entry.second.memory);
  }
  const auto has = [&expect](const DataNames& data) { return ExpectedDevices::HasData(expect, data); };
  const auto suits = [&](const v1::TrialSpec& trial) {
    if (!trial.program().empty() && trial.program() != expect.program()) return false;
    if (!has(devices_.history.DataOfTrials(trial.experiment()))) return false;
    if (!devices_.expected.MayMeet(expect, trial.requirements())) return false;
    // Where no device has room for a trial it waits for one of the largest.
    return expect.device_memory() == 0 || expect.device_memory() >= largest ||
           HasRoomFor(trial.estimated_memory(), expect.device_memory());
  };
  // Devices of this machine whose processes start one after the other, and what they are about to begin.
  const auto idle_here = [](const Kind& kind) {
    return kind.local ? kind.idle_warm.size() + kind.idle_cold.size() : 0;
  };
  size_t idle = 0;
  for (const auto& entry : pool.kinds()) idle += idle_here(entry.second);
  const auto counts = [&](const QueuedDiscovery& discovery) {
    return !discovery.request.has_convert() && has(discovery.data);
  };
  const auto discoveries = static_cast<int>(std::count_if(work_.discoveries.begin(), work_.discoveries.end(), counts));
  int begin_here = 0;
  if (idle > 0) {
    const auto begins_here = [&](const QueuedDiscovery& discovery) {
      return counts(discovery) && std::any_of(pool.kinds().begin(), pool.kinds().end(), [&](const auto& entry) {
               return idle_here(entry.second) > 0 && DevicePool::Has(entry.second, discovery.data);
             });
    };
    begin_here = static_cast<int>(std::count_if(work_.discoveries.begin(), work_.discoveries.end(), begins_here));
    begin_here += work_.queue.Count([&](const v1::TrialSpec& trial) {
      const std::vector<const Kind*> kinds = devices_.placement.KindsFor(trial, now);
      return suits(trial) &&
             std::any_of(kinds.begin(), kinds.end(), [&](const Kind* kind) { return idle_here(*kind) > 0; });
    });
  }
  return discoveries + work_.queue.Count(suits) - std::min(begin_here, static_cast<int>(idle));
}

std::set<std::string> WaitingWork::Experiments() const {
  std::set<std::string> waiting;
  for (const QueuedDiscovery& discovery : work_.discoveries) waiting.insert(discovery.request.experiment());
  for (const std::string& experiment : work_.queue.Experiments()) waiting.insert(experiment);
  for (const std::string& experiment : work_.returning.Experiments()) waiting.insert(experiment);
  return waiting;
}

}  // namespace lanista
