#include "actors/expected_devices.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "engines/device_memory.h"
#include "google/protobuf/util/message_differencer.h"
#include "src/config/requirements.h"

namespace lanista {
namespace {

// So many sorts of devices (kind and labels) are remembered.
constexpr size_t kMostSeen = 1000;

}  // namespace

void ExpectedDevices::Joined(const v1::Device& device, const Labels& labels) {
  // Labels may be different on each node: then nothing can be learned from them.
  if (seen_memory_.size() >= kMostSeen) seen_memory_.clear();
  int64_t& seen = seen_memory_[{device.kind(), labels}];
  seen = std::max(seen, DeviceMemory(device));
}

bool ExpectedDevices::Set(v1::ExpectDevices expected) {
  v1::ExpectDevices& known = expected_[expected.source()];
  const bool is_new = !google::protobuf::util::MessageDifferencer::Equals(known, expected);
  known = std::move(expected);
  return is_new;
}

bool ExpectedDevices::HasData(const v1::ExpectDevices& expected, const DataNames& data) {
  return Includes({expected.data().begin(), expected.data().end()}, data);
}

bool ExpectedDevices::MayMeet(const v1::ExpectDevices& expected, const v1::RequirementsConfig& requirements) const {
  OfferedDevices devices{expected.device_kind(), expected.device_memory(), LabelsOf(expected.labels())};
  if (devices.kind == v1::DeviceKind::KIND_UNSPECIFIED) devices.kind = requirements.device_kind();
  if (devices.memory == 0) {
    const auto seen = seen_memory_.find({devices.kind, devices.labels});
    devices.memory = seen == seen_memory_.end() ? requirements.min_device_memory() : seen->second;
  }
  return Meets(devices, requirements);
}

int ExpectedDevices::Count(const std::string& program, const DataNames& data,
                           const v1::RequirementsConfig& requirements) const {
  int coming = 0;
  for (const auto& [source, expected] : expected_) {
    const bool runs = program.empty() || expected.program() == program;
    if (runs && HasData(expected, data) && MayMeet(expected, requirements)) coming += expected.devices();
  }
  return coming;
}

std::string ExpectedDevices::WhyNotThere() const {
  std::string why;
  for (const auto& [source, expected] : expected_) {
    if (expected.because().empty()) continue;
    absl::StrAppend(&why, why.empty() ? "" : "; ", expected.because());
  }
  return why;
}

}  // namespace lanista
