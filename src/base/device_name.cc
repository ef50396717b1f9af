#include "src/base/device_name.h"

#include "absl/strings/str_cat.h"

namespace lanista {

std::string DeviceName(const v1::Device& device) {
  if (device.prepares()) return "its place for discoveries";
  return absl::StrCat(device.kind() == v1::DeviceKind::GPU ? "cuda:" : "cpu:", device.index());
}

}  // namespace lanista
