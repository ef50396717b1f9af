#include "src/trial/models_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace lanista {
namespace {

// The most memory that this process had since the kernel was told to forget. proc(5): VmHWM, in KiB.
std::optional<int64_t> PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string key; status >> key;) {
    int64_t kibibytes = 0;
    if (key == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
    status.ignore(256, '\n');
  }
  return std::nullopt;
}

}  // namespace

void ModelsMemory::Start() {
  if (!measured_ || before_.has_value()) return;
  // proc(5): the peak becomes what there is now.
  std::ofstream forget("/proc/self/clear_refs");
  forget << "5" << std::flush;
  if (forget) before_ = PeakResidentBytes();
  measured_ = before_.has_value();
}

int64_t ModelsMemory::Peak() const {
  if (!before_.has_value()) return 0;
  return std::max<int64_t>(0, PeakResidentBytes().value_or(0) - *before_);
}

}  // namespace lanista
