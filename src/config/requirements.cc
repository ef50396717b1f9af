#include "src/config/requirements.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lanista {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kGibibyte = 1 << 30;

// Enough digits to tell a device from one that just has too little.
std::string MemoryText(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  return size >= kGibibyte ? absl::StrFormat("%.6g GiB", size / kGibibyte)
                           : absl::StrFormat("%.6g MiB", size / kMebibyte);
}

int Count(const std::vector<OfferedDevices>& devices) {
  int count = 0;
  for (const OfferedDevices& alike : devices) count += alike.count;
  return count;
}

// The devices that are left after each requirement, and what is said of that.
class Sieve {
 public:
  explicit Sieve(std::vector<OfferedDevices> devices) : devices_(std::move(devices)) {
    const int count = Count(devices_);
    steps_.push_back(absl::StrCat("of ", count, count == 1 ? " device" : " devices"));
  }

  // `one`, `many`: "is a GPU", "are GPUs". False: none is left.
  bool Keep(const std::string& one, const std::string& many, const std::function<bool(const OfferedDevices&)>& has) {
    devices_.erase(
        std::remove_if(devices_.begin(), devices_.end(), [&has](const OfferedDevices& alike) { return !has(alike); }),
        devices_.end());
    const int left = Count(devices_);
    const std::string of_these = steps_.size() == 1 ? "" : " of these";
    steps_.push_back(absl::StrCat(left == 0 ? "none" : absl::StrCat(left), of_these, " ", left > 1 ? many : one));
    return left > 0;
  }

  int64_t largest() const {
    int64_t largest = 0;
    for (const OfferedDevices& alike : devices_) largest = std::max(largest, alike.memory);
    return largest;
  }
  std::string ToText() const { return absl::StrJoin(steps_, ", "); }

 private:
  std::vector<OfferedDevices> devices_;
  std::vector<std::string> steps_;
};

}  // namespace

bool HasKindAndLabels(const v1::RequirementsConfig& requirements, v1::DeviceKind::Kind kind, const Labels& labels) {
  if (requirements.device_kind() != v1::DeviceKind::KIND_UNSPECIFIED && requirements.device_kind() != kind)
    return false;
  return std::all_of(requirements.node_labels().begin(), requirements.node_labels().end(), [&](const auto& required) {
    const auto found = labels.find(required.first);
    return found != labels.end() && found->second == required.second;
  });
}

bool Meets(const OfferedDevices& devices, const v1::RequirementsConfig& requirements) {
  return devices.memory >= requirements.min_device_memory() &&
         HasKindAndLabels(requirements, devices.kind, devices.labels);
}

std::string RequirementsText(const v1::RequirementsConfig& requirements) {
  std::vector<std::string> texts;
  if (requirements.device_kind() != v1::DeviceKind::KIND_UNSPECIFIED) {
    texts.push_back(requirements.device_kind() == v1::DeviceKind::GPU ? "GPU" : "CPU slot");
  }
  if (requirements.has_min_device_memory()) {
    texts.push_back(absl::StrCat("at least ", MemoryText(requirements.min_device_memory())));
  }
  // In an order that does not change.
  for (const auto& [key, value] : LabelsOf(requirements.node_labels())) {
    texts.push_back(absl::StrCat("label ", key, "=", value));
  }
  return absl::StrJoin(texts, ", ");
}

std::string WhyNoneMeets(const v1::RequirementsConfig& requirements, std::vector<OfferedDevices> devices) {
  Sieve sieve(std::move(devices));
  if (requirements.device_kind() != v1::DeviceKind::KIND_UNSPECIFIED) {
    const bool gpu = requirements.device_kind() == v1::DeviceKind::GPU;
    const bool left = sieve.Keep(gpu ? "is a GPU" : "is a CPU slot", gpu ? "are GPUs" : "are CPU slots",
                                 [&](const OfferedDevices& alike) { return alike.kind == requirements.device_kind(); });
    if (!left) return sieve.ToText();
  }
  if (requirements.has_min_device_memory()) {
    const int64_t largest = sieve.largest();
    const std::string enough = absl::StrCat("at least ", MemoryText(requirements.min_device_memory()));
    const bool left = sieve.Keep("has " + enough, "have " + enough, [&](const OfferedDevices& alike) {
      return alike.memory >= requirements.min_device_memory();
    });
    if (!left) {
      return absl::StrCat(sieve.ToText(), largest == 0 ? " (their memory is not known)"
                                                       : absl::StrCat(" (the largest has ", MemoryText(largest), ")"));
    }
  }
  for (const auto& [key, value] : LabelsOf(requirements.node_labels())) {
    const std::string label = absl::StrCat("the label ", key, "=", value);
    v1::RequirementsConfig required;
    (*required.mutable_node_labels())[key] = value;
    const bool left = sieve.Keep("has " + label, "have " + label, [&required](const OfferedDevices& alike) {
      return HasKindAndLabels(required, alike.kind, alike.labels);
    });
    if (!left) return sieve.ToText();
  }
  return "";
}

}  // namespace lanista
