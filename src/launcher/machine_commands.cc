// devices, version.
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
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
#include "src/base/trial_process.h"
#include "src/base/version.h"
#include "src/devices/local.h"
#include "src/launcher/commands.h"
#include "src/launcher/exit_codes.h"

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
  LANISTA_ASSIGN_OR_RETURN(std::vector<v1::Device> devices, LocalDevices({}));
  for (int index = 0;; ++index) {
    v1::LocalConfig gpu;
    gpu.set_cpu_slots(0);
    gpu.add_gpu_indices(index);
    gpu.set_use_active_gpu(true);
    const auto found = LocalDevices(gpu);
    if (!found.ok()) return devices;  // There is no such GPU: that was the last.
    devices.insert(devices.end(), found->begin(), found->end());
  }
}

// Asks the trial program, which alone links LibTorch.
absl::StatusOr<std::string> LibTorchVersion(const std::string& program) {
  std::error_code error;
  if (!std::filesystem::exists(program, error)) {
    return absl::NotFoundError(absl::StrCat("no trial program at ", program, "; name it with --trial-program"));
  }
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<std::string> version;
  bool ended = false;
  const std::unique_ptr<TrialChannel> channel = MakeTrialProcess(program);
  TrialChannel::Handlers handlers;
  handlers.on_event = [&](const v1::TrialEvent& event) {
    const std::lock_guard<std::mutex> lock(mutex);
    if (event.has_ready()) version = event.ready().libtorch_version();
    changed.notify_one();
  };
  handlers.on_exit = [&](const v1::ProcessExited&) {
    const std::lock_guard<std::mutex> lock(mutex);
    ended = true;
    changed.notify_one();
  };
  v1::Device device;
  device.set_kind(v1::CPU);
  device.set_threads(1);
  LANISTA_RETURN_IF_ERROR(channel->Start(device, std::move(handlers)));
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [&] { return version.has_value() || ended; });
  if (!version) return absl::UnavailableError(absl::StrCat(program, " ended without a word; is it a trial program?"));
  return *version;
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
  const auto libtorch = LibTorchVersion(context.trial_program.path);
  const Json document = {
      {"lanista", kVersion},
      {"libtorch", libtorch.ok() ? Json(*libtorch) : Json(nullptr)},
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
  if (!libtorch.ok()) std::fprintf(stderr, "lanista: warning: %s\n", std::string(libtorch.status().message()).c_str());
  return kExitDone;
}

}  // namespace lanista
