#include "src/devices/device_source.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/devices/local.h"
#include "src/devices/node_source.h"

namespace lanista {

absl::StatusOr<std::vector<v1::Device>> SelectDevices(
    const google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>& blocks) {
  const Machine machine = ThisMachine(/*with_gpus=*/false);
  if (blocks.empty()) return LocalDevices({}, machine);
  std::vector<v1::Device> all;
  // Indices in `all` of the CPU slots without a memory limit of their own.
  std::vector<size_t> sharing;
  std::set<int> gpus;
  int cpu_slots = 0;
  bool in_process = false;
  for (int block = 0; block < blocks.size(); ++block) {
    if (BringsNodes(blocks.Get(block))) continue;
    const std::string field = absl::StrCat("training_service[", block, "]");
    auto source = DeviceSourceRegistry::Get().Create(blocks.Get(block));
    if (!source.ok()) return Annotate(source.status(), field);
    auto devices = (*source)->Devices();
    if (!devices.ok()) return Annotate(devices.status(), field);
    const bool shares = blocks.Get(block).has_local() && !blocks.Get(block).local().has_memory_limit();
    for (v1::Device& device : *devices) {
      if (device.kind() == v1::DeviceKind::CPU) device.set_index(cpu_slots++);
      if (device.kind() == v1::DeviceKind::CPU && shares) sharing.push_back(all.size());
      if (device.kind() == v1::DeviceKind::GPU && !gpus.insert(device.index()).second) {
        return absl::InvalidArgumentError(
            absl::StrCat(field, ": GPU ", device.index(), " is in an earlier block already"));
      }
      in_process |= device.isolation() == v1::LocalConfig::IN_PROCESS;
      all.push_back(std::move(device));
    }
    if (cpu_slots > MostSlots(machine)) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": with it there are ", cpu_slots, " CPU slots, of at most ", MostSlots(machine)));
    }
    if (in_process && all.size() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(field, ": a device with isolation: IN_PROCESS must be the only one"));
    }
  }
  // A block alone has divided the memory by its own devices only.
  if (sharing.empty()) return all;
  const int64_t share = machine.memory / static_cast<int64_t>(all.size());
  LANISTA_RETURN_IF_ERROR(CheckMemoryShare(share, all.size()));
  for (const size_t slot : sharing) all[slot].set_memory_limit(share);
  return all;
}

std::vector<v1::Device> WithPlace(std::vector<v1::Device> devices) {
  const bool in_process = std::any_of(devices.begin(), devices.end(), [](const v1::Device& device) {
    return device.isolation() == v1::LocalConfig::IN_PROCESS;
  });
  if (devices.empty() || in_process) return devices;
  const auto limit = [](const v1::Device& device) {
    return device.memory_limit() == 0 ? std::numeric_limits<int64_t>::max() : device.memory_limit();
  };
  const int64_t most = limit(*std::max_element(devices.begin(), devices.end(),
                                               [&](const auto& a, const auto& b) { return limit(a) < limit(b); }));
  v1::Device place;
  place.set_prepares(true);
  place.set_kind(v1::DeviceKind::CPU);
  place.set_threads(1);
  place.set_memory_limit(most == std::numeric_limits<int64_t>::max() ? 0 : most);
  place.set_node(devices.front().node());
  place.set_isolation(v1::LocalConfig::PROCESS);
  devices.push_back(std::move(place));
  return devices;
}

}  // namespace lanista
