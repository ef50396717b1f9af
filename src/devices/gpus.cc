#include "src/devices/gpus.h"

#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace lanista {
namespace {

// The few declarations of nvml.h that are used here. They are the same in all versions of the driver.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;  // NOLINT(runtime/int): the library's type.
};
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlInsufficientSize = 7;

// The library, from its initialisation to its shutdown.
class Nvml {
 public:
  explicit Nvml(const std::string& library)
      : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL),
                 [](void* handle) { return handle ? dlclose(handle) : 0; }) {
    if (library_ == nullptr) return;
    Find("nvmlInit_v2", &init_);
    Find("nvmlShutdown", &shutdown_);
    Find("nvmlDeviceGetCount_v2", &count_of_);
    Find("nvmlDeviceGetHandleByIndex_v2", &handle_of_);
    Find("nvmlDeviceGetHandleByUUID", &handle_of_uuid_);
    Find("nvmlDeviceGetUUID", &uuid_of_);
    Find("nvmlDeviceGetName", &name_of_);
    Find("nvmlDeviceGetMemoryInfo", &memory_of_);
    Find("nvmlDeviceGetComputeRunningProcesses", &processes_of_);
    usable_ = init_ && shutdown_ && count_of_ && handle_of_ && handle_of_uuid_ && uuid_of_ && name_of_ && memory_of_ &&
              processes_of_ && init_() == kNvmlSuccess;
  }
  ~Nvml() {
    if (usable_) shutdown_();
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool usable() const { return usable_; }

  // All GPUs, in the order of the PCI bus. One that cannot be reached has no UUID.
  std::vector<Gpu> All() const {
    unsigned count = 0;
    if (count_of_(&count) != kNvmlSuccess) return {};
    std::vector<Gpu> gpus(count);
    for (unsigned index = 0; index < count; ++index) {
      NvmlDevice handle = nullptr;
      if (handle_of_(index, &handle) == kNvmlSuccess) gpus[index] = Describe(handle);
      gpus[index].index = static_cast<int>(index);
    }
    return gpus;
  }

  // The GPU, or the part of one, with that UUID.
  std::optional<Gpu> ByUuid(const std::string& uuid) const {
    NvmlDevice handle = nullptr;
    if (handle_of_uuid_(uuid.c_str(), &handle) != kNvmlSuccess) return std::nullopt;
    return Describe(handle);
  }

 private:
  // The function `name` of the library; null if an old driver lacks it.
  template <typename Function>
  void Find(const char* name, Function** function) {
    *function = reinterpret_cast<Function*>(dlsym(library_.get(), name));
  }

  Gpu Describe(NvmlDevice handle) const {
    Gpu gpu;
    char text[96] = {};
    if (uuid_of_(handle, text, sizeof(text)) == kNvmlSuccess) gpu.uuid = text;
    char name[96] = {};
    if (name_of_(handle, name, sizeof(name)) == kNvmlSuccess) gpu.model = name;
    NvmlMemory memory = {};
    if (memory_of_(handle, &memory) == kNvmlSuccess) gpu.memory = static_cast<int64_t>(memory.total);
    // No room for the list: asks only whether it is empty.
    unsigned processes = 0;
    gpu.active = processes_of_(handle, &processes, nullptr) == kNvmlInsufficientSize;
    return gpu;
  }

  const std::unique_ptr<void, int (*)(void*)> library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  int (*count_of_)(unsigned*) = nullptr;
  int (*handle_of_)(unsigned, NvmlDevice*) = nullptr;
  int (*handle_of_uuid_)(const char*, NvmlDevice*) = nullptr;
  int (*uuid_of_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name_of_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory_of_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*processes_of_)(NvmlDevice, unsigned*, void*) = nullptr;
  bool usable_ = false;
};

// The GPU that an entry of CUDA_VISIBLE_DEVICES names; nullopt: none.
std::optional<Gpu> Resolve(const std::string& entry, const std::vector<Gpu>& all, const Nvml& nvml) {
  int index = 0;
  if (absl::SimpleAtoi(entry, &index)) {
    if (index < 0 || index >= static_cast<int>(all.size())) return std::nullopt;
    return all[static_cast<size_t>(index)];
  }
  if (absl::StartsWith(entry, "MIG-")) return nvml.ByUuid(entry);
  if (!absl::StartsWith(entry, "GPU-")) return std::nullopt;
  std::optional<Gpu> found;
  for (const Gpu& gpu : all) {
    if (!absl::StartsWith(gpu.uuid, entry)) continue;
    // The beginning of two names none.
    if (found.has_value()) return std::nullopt;
    found = gpu;
  }
  return found;
}

}  // namespace

std::vector<Gpu> ListGpus(const std::optional<std::string>& visible, const std::string& library) {
  const Nvml nvml(library);
  if (!nvml.usable()) return {};
  std::vector<Gpu> gpus = nvml.All();
  if (visible.has_value()) {
    const std::vector<Gpu> all = std::exchange(gpus, {});
    for (const absl::string_view entry : absl::StrSplit(*visible, ',')) {
      std::optional<Gpu> gpu = Resolve(std::string(absl::StripAsciiWhitespace(entry)), all, nvml);
      if (!gpu.has_value()) break;
      // CUDA has no device at all where one is named twice.
      const auto same = [&](const Gpu& known) { return known.uuid == gpu->uuid; };
      if (std::any_of(gpus.begin(), gpus.end(), same)) return {};
      gpu->index = static_cast<int>(gpus.size());
      gpus.push_back(*std::move(gpu));
    }
  }
  // Without a UUID a trial process could not be given that GPU alone.
  gpus.erase(std::remove_if(gpus.begin(), gpus.end(), [](const Gpu& gpu) { return gpu.uuid.empty(); }), gpus.end());
  return gpus;
}

}  // namespace lanista
