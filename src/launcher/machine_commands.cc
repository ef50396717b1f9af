// devices, version.
#include <cstdio>
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
#include "src/base/status.h"
#include "src/base/version.h"
#include "src/devices/local.h"
#include "src/launcher/commands.h"
#include "src/launcher/exit_codes.h"
#include "src/launcher/trial_session.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGibibyte = 1 << 30;

// What the processor calls itself; empty where /proc/cpuinfo does not tell.
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
      list.push_back({{"kind", absl::AsciiStrToLower(v1::DeviceKind_Name(device.kind()))},
                      {"index", device.index()},
                      {"threads", device.threads()},
                      {"memory_limit", device.memory_limit()},
                      {"node", device.node()},
                      {"model", device.model()}});
    }
    const Json document = {
        {"cpu", {{"model", ProcessorModel()}, {"threads", threads}}}, {"memory", AvailableMemory()}, {"devices", list}};
    std::puts(document.dump(2).c_str());
    return kExitDone;
  }
  std::puts(
      absl::StrFormat("%s, %d threads, %.1f GiB", ProcessorModel(), threads, AvailableMemory() / kGibibyte).c_str());
  std::puts(absl::StrFormat("%-8s %7s %12s  %s", "DEVICE", "THREADS", "MEMORY LIMIT", "MODEL").c_str());
  for (const v1::Device& device : devices) {
    const std::string name =
        absl::StrCat(absl::AsciiStrToLower(v1::DeviceKind_Name(device.kind())), " ", device.index());
    const std::string memory =
        device.memory_limit() == 0 ? "none" : absl::StrFormat("%.1f GiB", device.memory_limit() / kGibibyte);
    std::puts(absl::StrFormat("%-8s %7d %12s  %s", name, device.threads(), memory, device.model()).c_str());
  }
  return kExitDone;
}

absl::StatusOr<int> ShowVersion(const CommandContext& context) {
  // The trial program alone links LibTorch.
  const auto session = TrialSession::Start(context.trial_program);
  const Json document = {
      {"lanista", kVersion},
      {"libtorch", session.ok() ? Json((*session)->libtorch_version()) : Json(nullptr)},
      {"caf", absl::StrCat(CAF_MAJOR_VERSION, ".", CAF_MINOR_VERSION, ".", CAF_PATCH_VERSION)},
      {"grpc", GRPC_CPP_VERSION_STRING},
      {"protobuf", google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION)},
  };
  if (context.line.json) {
    std::puts(document.dump(2).c_str());
  } else {
    for (const auto& item : document.items()) {
      const std::string version = item.value().is_string() ? item.value().get<std::string>() : "unknown";
      std::puts(absl::StrFormat("%-9s %s", item.key(), version).c_str());
    }
  }
  if (!session.ok()) std::fprintf(stderr, "lanista: warning: %s\n", std::string(session.status().message()).c_str());
  return kExitDone;
}

}  // namespace lanista
