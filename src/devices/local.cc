#include "src/devices/local.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/devices/device_source.h"
#include "src/devices/gpus.h"

namespace lanista {
namespace {

// Below this LibTorch does not even start.
constexpr int64_t kLeastMemory = 256LL << 20;

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

// The processor's name for itself.
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

v1::Device MakeDevice(v1::DeviceKind kind, int index, int threads, const v1::LocalConfig& config) {
  v1::Device device;
  device.set_kind(kind);
  device.set_index(index);
  device.set_threads(threads);
  device.set_node(HostName());
  device.set_isolation(config.isolation() == v1::ISOLATION_UNSPECIFIED ? v1::PROCESS : config.isolation());
  return device;
}

absl::Status AddGpus(const v1::LocalConfig& config, int threads, std::vector<v1::Device>& devices) {
  const std::vector<Gpu> gpus = ListGpus();
  for (const int index : config.gpu_indices()) {
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const Gpu& known) { return known.index == index; });
    if (gpu == gpus.end()) {
      const std::string known =
          absl::StrJoin(gpus, ", ", [](std::string* out, const Gpu& known) { absl::StrAppend(out, known.index); });
      return absl::InvalidArgumentError(absl::StrCat("local.gpu_indices: there is no GPU ", index, " here (",
                                                     known.empty() ? "none was found" : "there is: " + known, ")"));
    }
    if (gpu->active && !config.use_active_gpu()) {
      return absl::InvalidArgumentError(absl::StrCat("local.gpu_indices: other processes run on GPU ", index,
                                                     "; set use_active_gpu: true to share it"));
    }
    v1::Device device = MakeDevice(v1::GPU, index, threads, config);
    device.set_model(gpu->model);
    device.set_memory(gpu->memory);
    devices.push_back(std::move(device));
  }
  return absl::OkStatus();
}

class LocalSource final : public DeviceSource {
 public:
  explicit LocalSource(v1::LocalConfig config) : config_(std::move(config)) {}
  absl::StatusOr<std::vector<v1::Device>> Devices() const override { return LocalDevices(config_); }

 private:
  const v1::LocalConfig config_;
};

absl::StatusOr<std::unique_ptr<DeviceSource>> MakeLocal(const v1::LocalConfig& config) {
  return std::make_unique<LocalSource>(config);
}

}  // namespace

int AvailableProcessors() {
  cpu_set_t processors;
  if (sched_getaffinity(0, sizeof(processors), &processors) == 0) return CPU_COUNT(&processors);
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

int64_t AvailableMemory() {
  int64_t memory = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    int64_t limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) memory = std::min(memory, limit);
  }
  return memory;
}

absl::StatusOr<std::vector<v1::Device>> LocalDevices(const v1::LocalConfig& config) {
  const int threads = config.has_threads_per_slot() ? config.threads_per_slot() : 1;
  if (threads < 1) {
    return absl::InvalidArgumentError(absl::StrCat("local.threads_per_slot must be at least 1, is ", threads));
  }
  const int fitting = config.gpu_indices().empty() ? std::max(1, AvailableProcessors() / threads) : 0;
  const int cpu_slots = config.has_cpu_slots() ? config.cpu_slots() : fitting;
  if (cpu_slots < 0)
    return absl::InvalidArgumentError(absl::StrCat("local.cpu_slots must not be negative, is ", cpu_slots));

  std::vector<v1::Device> devices;
  const std::string cpu_model = CpuModel();
  for (int slot = 0; slot < cpu_slots; ++slot) {
    devices.push_back(MakeDevice(v1::CPU, slot, threads, config));
    devices.back().set_model(cpu_model);
  }
  LANISTA_RETURN_IF_ERROR(AddGpus(config, threads, devices));
  if (devices.empty())
    return absl::InvalidArgumentError("local: no device: set cpu_slots to at least 1, or gpu_indices");

  const int64_t share = AvailableMemory() / static_cast<int64_t>(devices.size());
  const int64_t limit = config.has_memory_limit() ? config.memory_limit() : share;
  if (config.has_memory_limit() && limit < kLeastMemory) {
    return absl::InvalidArgumentError(
        absl::StrCat("local.memory_limit (bytes) must be at least ", kLeastMemory, " to load LibTorch, is ", limit));
  }
  // CUDA maps far more address space than it uses: there the device's own memory is what runs out.
  for (v1::Device& device : devices) device.set_memory_limit(device.kind() == v1::CPU ? limit : 0);
  return devices;
}

LANISTA_REGISTER(DeviceSourceRegistry, local, v1::LocalConfig, MakeLocal);

}  // namespace lanista
