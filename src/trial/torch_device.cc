#include "src/trial/torch_device.h"

#include <ATen/Context.h>
#include <torch/version.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/device_name.h"

namespace lanista {

c10::Device TorchDevice(const v1::Device& device) {
  if (device.kind() != v1::DeviceKind::GPU) return c10::Device(c10::kCPU);
  // A trial process sees its own GPU alone.
  const bool alone = device.isolation() != v1::LocalConfig::IN_PROCESS && !device.uuid().empty();
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(alone ? 0 : device.index()));
}

absl::Status CheckTorchDevice(const v1::Device& device) {
  if (device.kind() != v1::DeviceKind::GPU || at::hasCUDA()) return absl::OkStatus();
  const absl::string_view why =
      at::globalContext().hasCUDART()
          ? "whose CUDA finds no GPU; perhaps the driver is too old (nvidia-smi shows the newest CUDA that it knows)"
          : "which has no CUDA; set LANISTA_LIBTORCH to the folder of one that has, and build the program again";
  return absl::FailedPreconditionError(absl::StrCat(
      DeviceName(device), " cannot be used: this program was built with LibTorch " TORCH_VERSION ", ", why));
}

}  // namespace lanista
