#include "src/devices/local.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/cgroup.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/devices/device_source.h"
#include "src/devices/gpus.h"
#include "src/devices/slurm_share.h"

namespace lanista {
namespace {

// For MostSlots. More slots than processors are allowed because some models wait more than they compute, and because
// small machines are used to test large set-ups.
constexpr int kSlotsPerProcessor = 4;
constexpr int kLeastMostSlots = 16;

// With less memory, LibTorch does not start.
constexpr int64_t kLeastMemory = 256LL << 20;

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// The processor's model name.
std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    if (line.rfind("model name", 0) == 0) {
      return std::string(absl::StripAsciiWhitespace(line.substr(line.find(':') + 1)));
    }
  }
  return "CPU";
}

v1::Device MakeDevice(v1::DeviceKind::Kind kind, int index, int threads, const v1::LocalConfig& config,
                      const Machine& machine) {
  v1::Device device;
  device.set_kind(kind);
  device.set_index(index);
  device.set_threads(threads);
  device.set_node(machine.name);
  device.set_isolation(config.isolation() == v1::LocalConfig::ISOLATION_UNSPECIFIED ? v1::LocalConfig::PROCESS
                                                                                    : config.isolation());
  return device;
}

absl::Status AddGpus(const v1::LocalConfig& config, int threads, const Machine& machine,
                     std::vector<v1::Device>& devices) {
  const std::vector<Gpu>& gpus = machine.gpus;
  for (const int index : config.gpu_indices()) {
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& known) { return known.index == index; });
    if (gpu == gpus.end()) {
      const std::string known =
          absl::StrJoin(gpus, ", ", [](std::string* out, const Gpu& known) { absl::StrAppend(out, known.index); });
      return absl::InvalidArgumentError(absl::StrCat(
          "local.gpu_indices: there is no GPU ", index, " here (",
          known.empty() ? "none was found" : "there is: " + known,
          machine.visible_gpus.has_value() ? absl::StrCat("; CUDA_VISIBLE_DEVICES is '", *machine.visible_gpus, "'")
                                           : "",
          ")"));
    }
    if (gpu->active && !config.use_active_gpu()) {
      return absl::InvalidArgumentError(absl::StrCat("local.gpu_indices: other processes run on GPU ", index,
                                                     "; set use_active_gpu: true to share it"));
    }
    v1::Device device = MakeDevice(v1::DeviceKind::GPU, index, threads, config, machine);
    device.set_model(gpu->model);
    device.set_uuid(gpu->uuid);
    device.set_memory(gpu->memory);
    devices.push_back(std::move(device));
  }
  return absl::OkStatus();
}

class LocalSource final : public DeviceSource {
 public:
  explicit LocalSource(v1::LocalConfig config) : config_(std::move(config)) {}
  absl::StatusOr<std::vector<v1::Device>> Devices() const override {
    return LocalDevices(config_, ThisMachine(/*with_gpus=*/!config_.gpu_indices().empty()));
  }

 private:
  const v1::LocalConfig config_;
};

absl::StatusOr<std::unique_ptr<DeviceSource>> MakeLocal(const v1::LocalConfig& config) {
  return std::make_unique<LocalSource>(config);
}

}  // namespace

int AvailableProcessors() {
  cpu_set_t affinity;
  int processors = static_cast<int>(std::thread::hardware_concurrency());
  if (sched_getaffinity(0, sizeof(affinity), &affinity) == 0) processors = CPU_COUNT(&affinity);
  // Rounded down, because slots that share the quota of one processor would all be throttled.
  if (const auto quota = Cgroup().ProcessorQuota()) processors = std::min(processors, static_cast<int>(*quota));
  if (const auto share = ReadSlurmShare(std::getenv).processors) processors = std::min(processors, *share);
  return std::max(1, processors);
}

int64_t AvailableMemory() {
  const int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return std::min(
      {memory, Cgroup().MemoryLimit().value_or(memory), ReadSlurmShare(std::getenv).memory.value_or(memory)});
}

int MostSlots(const Machine& machine) { return std::max(kLeastMostSlots, kSlotsPerProcessor * machine.processors); }

Machine ThisMachine(bool with_gpus) {
  Machine machine;
  machine.name = HostName();
  machine.cpu_model = CpuModel();
  machine.processors = AvailableProcessors();
  machine.memory = AvailableMemory();
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES")) machine.visible_gpus = visible;
  if (with_gpus) machine.gpus = ListGpus(machine.visible_gpus);
  return machine;
}

absl::Status CheckMemoryShare(int64_t share, size_t devices) {
  if (share >= kLeastMemory) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("local.cpu_slots: with ", Counted(static_cast<int64_t>(devices), "device"), " each has ",
                   share >> 20, " MiB of this machine's memory, too little to load LibTorch (", kLeastMemory >> 20,
                   " MiB): use fewer, or set memory_limit"));
}

absl::StatusOr<std::vector<v1::Device>> LocalDevices(const v1::LocalConfig& config, const Machine& machine) {
  const int threads = config.has_threads_per_slot() ? config.threads_per_slot() : 1;
  const int most = MostSlots(machine);
  const std::string why_most = absl::StrCat(most, " here (", kSlotsPerProcessor, " for each of ", machine.processors,
                                            " processors, or ", kLeastMostSlots, ")");
  if (threads < 1 || threads > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("local.threads_per_slot must be from 1 to ", why_most, ", is ", threads));
  }
  const bool in_process = config.isolation() == v1::LocalConfig::IN_PROCESS;
  int fitting = config.gpu_indices().empty() ? std::max(1, machine.processors / threads) : 0;
  // What the machine has memory for.
  if (!config.has_memory_limit()) {
    fitting = static_cast<int>(std::clamp<int64_t>(machine.memory / kLeastMemory, std::min(fitting, 1), fitting));
  }
  if (in_process) fitting = std::min(fitting, 1);
  const int cpu_slots = config.has_cpu_slots() ? config.cpu_slots() : fitting;
  if (cpu_slots < 0 || cpu_slots > most) {
    return absl::InvalidArgumentError(absl::StrCat("local.cpu_slots must be from 0 to ", why_most, ", is ", cpu_slots));
  }

  std::vector<v1::Device> devices;
  for (int slot = 0; slot < cpu_slots; ++slot) {
    devices.push_back(MakeDevice(v1::DeviceKind::CPU, slot, threads, config, machine));
    devices.back().set_model(machine.cpu_model);
  }
  LANISTA_RETURN_IF_ERROR(AddGpus(config, threads, machine, devices));
  if (devices.empty())
    return absl::InvalidArgumentError("local: no device: set cpu_slots to at least 1, or gpu_indices");

  if (in_process && devices.size() > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("local.isolation: IN_PROCESS allows one device, because all threads of a process share LibTorch's "
                     "random stream "
                     "and flags; here are ",
                     devices.size()));
  }

  const int64_t share = machine.memory / static_cast<int64_t>(devices.size());
  if (!config.has_memory_limit() && cpu_slots > 0) LANISTA_RETURN_IF_ERROR(CheckMemoryShare(share, devices.size()));
  const int64_t limit = config.has_memory_limit() ? config.memory_limit() : share;
  if (config.has_memory_limit() && limit < kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("local.memory_limit (bytes) must be at least ", kLeastMemory, " to load LibTorch, is ", limit));
  }
  // CUDA maps far more address space than it uses, so GPU slots have no limit; the GPU's own memory is the limit there.
  for (v1::Device& device : devices) device.set_memory_limit(device.kind() == v1::DeviceKind::CPU ? limit : 0);
  return devices;
}

LANISTA_REGISTER_BUILT_IN(DeviceSourceRegistry, local, v1::LocalConfig, MakeLocal);

}  // namespace lanista
