// devices, version.
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "caf/config.hpp"
#include "google/protobuf/stubs/common.h"
#include "grpcpp/version_info.h"
#include "nlohmann/json.hpp"
#include "src/base/device_name.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/base/version.h"
#include "src/devices/local.h"
#include "src/launcher/commands.h"
#include "src/launcher/console.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/trial_session.h"
#include "src/views/text_table.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGibibyte = 1 << 30;

// The processor's name; empty if /proc/cpuinfo does not have it.
std::string ProcessorModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (absl::StartsWith(line, "model name") && colon != std::string::npos) {
      return std::string(absl::StripAsciiWhitespace(absl::string_view(line).substr(colon + 1)));
    }
  }
  return "";
}

// The CPU slots of a `local` block with its defaults, and each GPU.
absl::StatusOr<std::vector<v1::Device>> AllDevices() {
  const Machine machine = ThisMachine(/*with_gpus=*/true);
  LANISTA_ASSIGN_OR_RETURN(std::vector<v1::Device> devices, LocalDevices({}, machine));
  if (machine.gpus.empty()) return devices;
  v1::LocalConfig all_gpus;
  all_gpus.set_cpu_slots(0);
  all_gpus.set_use_active_gpu(true);
  for (const Gpu& gpu : machine.gpus) all_gpus.add_gpu_indices(gpu.index);
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::Device> gpus, LocalDevices(all_gpus, machine));
  devices.insert(devices.end(), gpus.begin(), gpus.end());
  return devices;
}

}  // namespace

absl::StatusOr<int> ShowDevices(const CommandContext& context) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<v1::Device> devices, AllDevices());
  const int threads = AvailableProcessors();
  if (context.line.json) {
    Json list = Json::array();
    for (const v1::Device& device : devices) {
      list.push_back({{"device", DeviceName(device)},
                      {"threads", device.threads()},
                      {"memory_limit", device.memory_limit()},
                      {"node", device.node()},
                      {"model", device.model()}});
    }
    const Json document = {
        {"cpu", {{"model", ProcessorModel()}, {"threads", threads}}}, {"memory", AvailableMemory()}, {"devices", list}};
    PrintJson(document);
    return kExitDone;
  }
  PrintLine(
      absl::StrFormat("%s, %s, %.1f GiB", ProcessorModel(), Counted(threads, "thread"), AvailableMemory() / kGibibyte));
  TextTable table({{"device", TextTable::Align::kLeft},
                   {"threads", TextTable::Align::kRight},
                   {"memory limit", TextTable::Align::kRight},
                   {"model", TextTable::Align::kLeft}});
  for (const v1::Device& device : devices) {
    const std::string memory =
        device.memory_limit() == 0 ? "none" : absl::StrFormat("%.1f GiB", device.memory_limit() / kGibibyte);
    table.AddRow({DeviceName(device), absl::StrCat(device.threads()), memory, device.model()});
  }
  PrintText(table.ToText());
  return kExitDone;
}

absl::StatusOr<int> ShowVersion(const CommandContext& context) {
  // Only the trial program links LibTorch.
  const auto session = TrialSession::Start(context.trial_program);
  const Json document = {
      {"lanista", kVersion},
      {"libtorch", session.ok() ? Json((*session)->libtorch_version()) : Json(nullptr)},
      {"caf", absl::StrCat(CAF_MAJOR_VERSION, ".", CAF_MINOR_VERSION, ".", CAF_PATCH_VERSION)},
      {"grpc", GRPC_CPP_VERSION_STRING},
      {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)},
  };
  if (context.line.json) {
    PrintJson(document);
  } else {
    for (const auto& item : document.items()) {
      const std::string version = item.value().is_string() ? item.value().get<std::string>() : "unknown";
      PrintLine(absl::StrFormat("%-9s %s", item.key(), version));
    }
  }
  if (!session.ok()) PrintWarning(session.status().message());
  return kExitDone;
}

}  // namespace lanista
