#include "actors/device_pool.h"

#include <algorithm>

#include "engines/device_memory.h"
#include "src/config/requirements.h"

namespace lanista {
namespace {

// Rounded down to five significant bits, so that a thousand devices are of a few kinds.
int64_t RoundedMemory(int64_t bytes) {
  int64_t unit = 1;
  while (bytes / unit >= 64) unit *= 2;
  return bytes / unit * unit;
}

// Puts the number into the set, or takes it out.
void Put(std::set<int>& set, int number, bool in) {
  if (in) {
    set.insert(number);
  } else {
    set.erase(number);
  }
}

}  // namespace

void DevicePool::Begin(int max_starting, TelemetryPtr telemetry) {
  max_starting_ = max_starting;
  telemetry_ = std::move(telemetry);
}

DevicePool::Slot& DevicePool::Add(v1::Device device, bool local, DataNames data, Labels labels) {
  const int number = ++last_number_;
  Slot& slot = slots_[number];
  slot.number = number;
  slot.device = std::move(device);
  slot.local = local;
  slot.data = std::move(data);
  slot.labels = std::move(labels);
  nodes_[NameOfNode(slot)].slots.insert(number);
  if (slot.device.prepares()) places_.insert(number);
  return slot;
}

void DevicePool::SetWorker(Slot& slot, WorkerActor worker) {
  slot.worker = std::move(worker);
  if (!slot.device.prepares()) List(slot);
}

void DevicePool::WorkerReady(Slot& slot, bool warm) {
  slot.idle = true;
  slot.warm = warm;
  SetStarting(slot, false);
  Update(slot);
}

void DevicePool::ProcessUp(Slot& slot) {
  slot.warm = true;
  SetStarting(slot, false);
  Update(slot);
}

void DevicePool::Occupy(Slot& slot) {
  slot.idle = false;
  SetStarting(slot, slot.local && !slot.warm);
  Update(slot);
}

void DevicePool::WorkerDown(Slot& slot) {
  slot.worker = nullptr;
  slot.idle = slot.warm = false;
  ++slot.downs;
  SetStarting(slot, false);
  Update(slot);
}

void DevicePool::List(Slot& slot) {
  const KindKey key(slot.local, NodeOf(slot).programs, RoundedMemory(DeviceMemory(slot.device)), slot.data, slot.ends,
                    slot.device.kind(), slot.labels);
  Kind& kind = kinds_[key];
  if (slot.kind != &kind) {
    Unlist(slot);
    std::tie(kind.local, kind.programs, kind.memory, kind.data, kind.ends, kind.device_kind, kind.labels) = key;
    if (kind.devices.empty()) kind.lifetime = slot.lifetime;
    const int64_t memory = DeviceMemory(slot.device);
    kind.least_memory = kind.devices.empty() ? memory : std::min(kind.least_memory, memory);
    kind.devices.insert(slot.number);
    slot.kind = &kind;
    on_change_();
  }
  Update(slot);
}

void DevicePool::Update(Slot& slot) {
  if (slot.device.prepares()) return;
  Kind& kind = *slot.kind;
  const bool usable = slot.worker != nullptr && !slot.held;
  const bool stays = usable || (!slot.leaving && slot.downs < kMaxFirstWorkers);
  if (usable != (kind.usable.count(slot.number) > 0) || stays != (kind.staying.count(slot.number) > 0)) on_change_();
  Put(kind.usable, slot.number, usable);
  Put(kind.staying, slot.number, stays);
  Put(kind.idle_warm, slot.number, usable && slot.idle && slot.warm);
  Put(kind.idle_cold, slot.number, usable && slot.idle && !slot.warm);
  slot.use.Move({telemetry_, &telemetry_->devices[UseOf(slot)]});
}

void DevicePool::GiveUp(Slot& slot) { Unlist(slot); }

void DevicePool::Unlist(Slot& slot) {
  if (slot.kind == nullptr) return;
  Kind& kind = *std::exchange(slot.kind, nullptr);
  for (std::set<int>* const set : {&kind.devices, &kind.staying, &kind.usable, &kind.idle_warm, &kind.idle_cold}) {
    set->erase(slot.number);
  }
  if (kind.devices.empty()) kinds_.erase(KeyOf(kind));
  on_change_();
}

void DevicePool::Remove(Slot& slot) {
  Unlist(slot);
  places_.erase(slot.number);
  const std::string name = NameOfNode(slot);
  Node& node = nodes_.at(name);
  node.slots.erase(slot.number);
  if (node.slots.empty()) nodes_.erase(name);
  slots_.erase(slot.number);
}

void DevicePool::Learn(const Slot& slot, const std::string& program) {
  Node& node = nodes_.at(NameOfNode(slot));
  if (program.empty() || !node.programs.insert(program).second) return;
  for (const int number : node.slots) {
    Slot& other = slots_.at(number);
    if (other.kind != nullptr) List(other);
  }
}

bool DevicePool::Hold(const v1::HoldNode& hold) {
  const auto node = nodes_.find(hold.node());
  if (node == nodes_.end()) return false;
  for (const int number : node->second.slots) {
    Slot& slot = slots_.at(number);
    if (slot.local) continue;
    slot.held = hold.hold();
    slot.leaving = hold.leaving();
    Update(slot);
  }
  return true;
}

void DevicePool::SetStarting(Slot& slot, bool starting) {
  starting_ += static_cast<int>(starting) - static_cast<int>(std::exchange(slot.starting, starting));
}

void DevicePool::WorkEnded(Slot& slot) {
  if (!slot.warm) return;
  slot.works = true;
  slot.downs = 0;
}

DevicePool::Slot* DevicePool::Find(int number) {
  const auto found = slots_.find(number);
  return found == slots_.end() ? nullptr : &found->second;
}

bool DevicePool::AnyIdle() const {
  return std::any_of(kinds_.begin(), kinds_.end(), [](const auto& entry) {
    return entry.second.idle_warm.size() + entry.second.idle_cold.size() > 0;
  });
}

bool DevicePool::Runs(const Kind& kind, const std::string& program) {
  return program.empty() || kind.programs.count(program) > 0;
}

const DevicePool::Slot* DevicePool::FirstWith(const Kind& kind, const std::set<int>& numbers, int64_t memory) const {
  const auto found =
      kind.least_memory >= memory ? numbers.begin() : std::find_if(numbers.begin(), numbers.end(), [&](int number) {
        return DeviceMemory(slots_.at(number).device) >= memory;
      });
  return found == numbers.end() ? nullptr : &slots_.at(*found);
}

DevicePool::Slot* DevicePool::FirstWith(const Kind& kind, const std::set<int>& numbers, int64_t memory) {
  const Slot* const slot = std::as_const(*this).FirstWith(kind, numbers, memory);
  return slot == nullptr ? nullptr : Find(slot->number);
}

bool DevicePool::HasWhatIsRequired(const Kind& kind, const v1::RequirementsConfig& requirements) const {
  return HasKindAndLabels(requirements, kind.device_kind, kind.labels) &&
         FirstWith(kind, kind.devices, requirements.min_device_memory()) != nullptr;
}

DevicePool::Slot* DevicePool::Idle(const Kind& kind, int64_t memory) {
  if (Slot* const warm = FirstWith(kind, kind.idle_warm, memory)) return warm;
  // Other machines start their processes themselves.
  if (kind.local && !may_start()) return nullptr;
  return FirstWith(kind, kind.idle_cold, memory);
}

std::vector<int64_t> DevicePool::MemoriesOf(const std::string& program, const DataNames& data,
                                            const v1::RequirementsConfig& requirements) const {
  std::vector<int64_t> memories;
  for (const auto& entry : kinds_) {
    const Kind& kind = entry.second;
    if (!Runs(kind, program) || !Has(kind, data)) continue;
    if (!HasKindAndLabels(requirements, kind.device_kind, kind.labels)) continue;
    if (kind.least_memory >= requirements.min_device_memory()) {
      memories.insert(memories.end(), kind.staying.size(), kind.least_memory);
      continue;
    }
    for (const int number : kind.staying) {
      const int64_t memory = DeviceMemory(slots_.at(number).device);
      if (memory >= requirements.min_device_memory()) memories.push_back(memory);
    }
  }
  return memories;
}

v1::DeviceList DevicePool::DevicesOf(const v1::ListDevices& list) const {
  v1::DeviceList devices;
  for (const auto& entry : slots_) {
    const Kind* const kind = entry.second.kind;
    if (kind == nullptr || (!list.program().empty() && !Runs(*kind, list.program()))) continue;
    if (DeviceMemory(entry.second.device) < list.requirements().min_device_memory()) continue;
    if (!HasKindAndLabels(list.requirements(), kind->device_kind, kind->labels)) continue;
    *devices.add_devices() = entry.second.device;
  }
  return devices;
}

DevicePool::KindKey DevicePool::KeyOf(const Kind& kind) {
  return {kind.local, kind.programs, kind.memory, kind.data, kind.ends, kind.device_kind, kind.labels};
}

DeviceUse DevicePool::UseOf(const Slot& slot) {
  if (slot.worker == nullptr) return DeviceUse::kDown;
  if (slot.trial.has_value() || slot.discovery.has_value()) return DeviceUse::kBusy;
  if (slot.held) return DeviceUse::kHeld;
  return slot.idle ? DeviceUse::kIdle : DeviceUse::kBusy;
}

}  // namespace lanista
