// A fake of NVIDIA's management library: three GPUs, the second of which is in use and the third of which has a part.
#include <cstring>
#include <string>

namespace {

struct Fake {
  std::string uuid;
  std::string name;
  unsigned long long memory;  // NOLINT(runtime/int): the library's type.
  bool active;
};

const Fake kGpus[] = {
    {"GPU-aa00", "Fake 40", 40, false},
    {"GPU-ab11", "Fake 80", 80, true},
    {"GPU-cc22", "Fake 160", 160, false},
};
const Fake kPart = {"MIG-cc22-1", "Fake 160 part", 20, false};

struct Memory {
  unsigned long long total, free, used;  // NOLINT(runtime/int): the library's type.
};

constexpr int kSuccess = 0;
constexpr int kNotFound = 6;
constexpr int kInsufficientSize = 7;

int Copy(const std::string& text, char* to, unsigned size) {
  if (text.size() >= size) return kInsufficientSize;
  std::strcpy(to, text.c_str());  // NOLINT(runtime/printf): its size was checked.
  return kSuccess;
}

}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }
int nvmlShutdown() { return kSuccess; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 3;
  return kSuccess;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, const void** handle) {
  *handle = &kGpus[index];
  return kSuccess;
}
int nvmlDeviceGetHandleByUUID(const char* uuid, const void** handle) {
  if (uuid != kPart.uuid) return kNotFound;
  *handle = &kPart;
  return kSuccess;
}
int nvmlDeviceGetUUID(const void* handle, char* uuid, unsigned size) {
  return Copy(static_cast<const Fake*>(handle)->uuid, uuid, size);
}
int nvmlDeviceGetName(const void* handle, char* name, unsigned size) {
  return Copy(static_cast<const Fake*>(handle)->name, name, size);
}
int nvmlDeviceGetMemoryInfo(const void* handle, Memory* memory) {
  memory->total = static_cast<const Fake*>(handle)->memory;
  return kSuccess;
}
int nvmlDeviceGetComputeRunningProcesses(const void* handle, unsigned* count, void*) {
  *count = static_cast<const Fake*>(handle)->active ? 1 : 0;
  return *count == 0 ? kSuccess : kInsufficientSize;
}
}
