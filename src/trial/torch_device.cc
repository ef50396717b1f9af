#include "src/trial/torch_device.h"

#include <ATen/Context.h>
#include <torch/version.h>

#include "absl/strings/str_cat.h"

namespace lanista {

c10::Device TorchDevice(const v1::Device& device) {
  if (device.kind() != v1::DeviceKind::GPU) return c10::Device(c10::kCPU);
  // A trial process sees its own GPU alone.
  const bool alone = device.isolation() != v1::LocalConfig::IN_PROCESS && !device.uuid().empty();
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(alone ? 0 : device.index()));
}

absl::Status CheckTorchDevice(const v1::Device& device) {
  if (device.kind() != v1::DeviceKind::GPU || at::hasCUDA()) return absl::OkStatus();
  if (!at::globalContext().hasCUDART()) {
    return absl::FailedPreconditionError(
        absl::StrCat("cuda:", device.index(),
                     " cannot be used: this program was built with LibTorch " TORCH_VERSION
                     ", which has no CUDA. Set LANISTA_LIBTORCH to the folder of a LibTorch with CUDA and build the "
                     "program again."));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "cuda:", device.index(),
      " cannot be used: the CUDA of LibTorch " TORCH_VERSION
      " finds no GPU. Perhaps the driver is too old for it: nvidia-smi shows the newest CUDA that the driver knows."));
}

}  // namespace lanista
