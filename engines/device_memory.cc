#include "engines/device_memory.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>

namespace lanista {
namespace {

// The rest of a device is for LibTorch, the data and errors of the estimate.
constexpr double kShareForModels = 0.75;

}  // namespace

int64_t DeviceMemory(const v1::Device& device) {
  return device.kind() == v1::DeviceKind::GPU ? device.memory() : device.memory_limit();
}

bool HasRoomFor(int64_t models, int64_t memory) {
  return memory == 0 || static_cast<double>(models) <= kShareForModels * static_cast<double>(memory);
}

int64_t PlanningMemory(std::vector<int64_t> memories) {
  if (memories.empty()) return 0;
  // Everything fits into a device of unknown memory.
  std::replace(memories.begin(), memories.end(), int64_t{0}, std::numeric_limits<int64_t>::max());
  // The last of the two thirds with the largest memories.
  const auto two_thirds = memories.begin() + static_cast<std::ptrdiff_t>((2 * memories.size() + 2) / 3 - 1);
  std::nth_element(memories.begin(), two_thirds, memories.end(), std::greater<>());
  return *two_thirds == std::numeric_limits<int64_t>::max() ? 0 : *two_thirds;
}

}  // namespace lanista
