#include "src/devices/gpus.h"

#include <dlfcn.h>

#include <memory>

namespace lanista {
namespace {

// The few declarations of nvml.h that are used here; they are stable across drivers.
using NvmlDevice = void*;
struct NvmlMemory {
  unsigned long long total, free, used;  // NOLINT(runtime/int): the library's type.
};
constexpr int kNvmlSuccess = 0;
constexpr int kNvmlInsufficientSize = 7;

// The function `name` of the library; null if an old driver lacks it.
template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

std::vector<Gpu> ListGpus() {
  const std::unique_ptr<void, int (*)(void*)> library(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL),
                                                      [](void* handle) { return handle ? dlclose(handle) : 0; });
  if (library == nullptr) return {};
  auto* const init = Find<int()>(library.get(), "nvmlInit_v2");
  auto* const shutdown = Find<int()>(library.get(), "nvmlShutdown");
  auto* const count_of = Find<int(unsigned*)>(library.get(), "nvmlDeviceGetCount_v2");
  auto* const handle_of = Find<int(unsigned, NvmlDevice*)>(library.get(), "nvmlDeviceGetHandleByIndex_v2");
  auto* const name_of = Find<int(NvmlDevice, char*, unsigned)>(library.get(), "nvmlDeviceGetName");
  auto* const memory_of = Find<int(NvmlDevice, NvmlMemory*)>(library.get(), "nvmlDeviceGetMemoryInfo");
  auto* const processes_of =
      Find<int(NvmlDevice, unsigned*, void*)>(library.get(), "nvmlDeviceGetComputeRunningProcesses");
  if (!init || !shutdown || !count_of || !handle_of || !name_of || !memory_of || !processes_of) return {};
  if (init() != kNvmlSuccess) return {};

  std::vector<Gpu> gpus;
  unsigned count = 0;
  if (count_of(&count) != kNvmlSuccess) count = 0;
  for (unsigned index = 0; index < count; ++index) {
    NvmlDevice handle = nullptr;
    if (handle_of(index, &handle) != kNvmlSuccess) continue;
    Gpu gpu;
    gpu.index = static_cast<int>(index);
    char name[96] = {};
    if (name_of(handle, name, sizeof(name)) == kNvmlSuccess) gpu.model = name;
    NvmlMemory memory = {};
    if (memory_of(handle, &memory) == kNvmlSuccess) gpu.memory = static_cast<int64_t>(memory.total);
    // No room for the list: asks only whether it is empty.
    unsigned processes = 0;
    gpu.active = processes_of(handle, &processes, nullptr) == kNvmlInsufficientSize;
    gpus.push_back(std::move(gpu));
  }
  shutdown();
  return gpus;
}

}  // namespace lanista
