#include "src/launcher/device_requirements.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engines/device_memory.h"
#include "src/config/requirements.h"

namespace lanista {
namespace {

OfferedDevices Offer(const v1::Device& device, const Labels& labels) {
  return {device.kind(), DeviceMemory(device), labels};
}

}  // namespace

size_t PutFittingFirst(const v1::RequirementsConfig& requirements, const Labels& labels,
                       std::vector<v1::Device>* devices) {
  const auto others = std::stable_partition(devices->begin(), devices->end(), [&](const v1::Device& device) {
    return Meets(Offer(device, labels), requirements);
  });
  return static_cast<size_t>(others - devices->begin());
}

std::string WhyNoDeviceFits(const v1::RequirementsConfig& requirements, const Labels& labels,
                            const std::vector<v1::Device>& devices) {
  std::vector<OfferedDevices> offered;
  for (const v1::Device& device : devices) offered.push_back(Offer(device, labels));
  const std::string why = WhyNoneMeets(requirements, std::move(offered));
  if (why.empty()) return "";
  return absl::StrCat("no device of this machine meets them (", RequirementsText(requirements), "): ", why);
}

}  // namespace lanista
