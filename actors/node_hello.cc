#include "actors/node_hello.h"

#include <algorithm>

#include "actors/model_events.h"
#include "src/base/display_text.h"
#include "src/base/node_link.h"
#include "src/base/utf8.h"
#include "src/config/data_folders.h"
#include "src/config/data_paths.h"
#include "src/config/labels.h"

namespace lanista {
namespace {

// Of texts by which a node calls itself.
constexpr int kMaxIdBytes = 200;
// What a node may have that the head is still to hear of, for each device.
constexpr int kMaxAssignmentsPerDevice = 4;

// Of texts that stand in tables, in the log, and in the journal once for each attempt.
bool IsShortLine(const std::string& text) { return text.size() <= kMaxIdBytes && Printable(text) == text; }

bool IsDevice(const v1::Device& device) {
  const bool is_kind =
      device.kind() == v1::DeviceKind::CPU || (device.kind() == v1::DeviceKind::GPU && !device.prepares());
  return is_kind && device.index() >= 0 && device.threads() >= 0 && device.memory_limit() >= 0 &&
         device.memory() >= 0 && IsShortLine(device.model()) && IsShortLine(device.uuid());
}

}  // namespace

absl::Status CheckHello(const v1::NodeHello& hello) {
  if (hello.protocol_version() != kNodeProtocolVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("the node speaks version ", hello.protocol_version(), " of the protocol (Lanista ",
                     OneLine(ToUtf8(hello.version().substr(0, kMaxIdBytes))), "), the head version ",
                     kNodeProtocolVersion, ": install the same release on both machines"));
  }
  absl::Status name = CheckNodeName(hello.name());
  if (!name.ok()) return name;
  for (const std::string* id : {&hello.instance(), &hello.program(), &hello.version()}) {
    if (id->empty() || !IsShortLine(*id)) return Lie("does not say which instance, program and version it is");
  }
  const auto places = std::count_if(hello.devices().begin(), hello.devices().end(),
                                    [](const v1::Device& device) { return device.prepares(); });
  if (places > 1) return Lie("has several places for preparing work");
  const int devices = hello.devices_size() - static_cast<int>(places);
  if (devices < 1 || devices > kMaxDevicesOfNode) {
    return Lie(absl::StrCat("has ", devices, " devices; 1 to ", kMaxDevicesOfNode, " can join"));
  }
  for (const v1::Device& device : hello.devices()) {
    if (!IsDevice(device)) return Lie("describes a device that cannot be");
  }
  if (hello.assignments_size() > kMaxAssignmentsPerDevice * hello.devices_size()) {
    return Lie("names more assignments than it can have");
  }
  if (hello.held_trials_size() > hello.assignments_size()) return Lie("has more trials than assignments");
  if (!IsTime(hello.now())) return Lie("has no time");
  if (hello.data_size() > DataFolders::kMaxFolders) return Lie("has more data than it can have");
  for (const std::string& data : hello.data()) {
    if (!CheckDataName(data).ok()) return Lie("has data with an impossible name");
  }
  if (static_cast<int>(hello.labels().size()) > kMaxLabels) return Lie("has more labels than it can have");
  for (const auto& [key, value] : hello.labels()) {
    if (!CheckLabelKey(key).ok() || !CheckLabelValue(value).ok()) return Lie("has an impossible label");
  }
  return absl::OkStatus();
}

}  // namespace lanista
