// The device of a trial process, as LibTorch sees it.
#ifndef LANISTA_SRC_TRIAL_TORCH_DEVICE_H_
#define LANISTA_SRC_TRIAL_TORCH_DEVICE_H_

#include <c10/core/Device.h>

#include "absl/status/status.h"
#include "protos/trial.pb.h"

namespace lanista {

// As LibTorch names it.
c10::Device TorchDevice(const v1::Device& device);

// FAILED_PRECONDITION where this program's LibTorch cannot use `device`: it was built without CUDA, or CUDA finds no
// GPU. Starts CUDA, where the device is a GPU.
absl::Status CheckTorchDevice(const v1::Device& device);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_TORCH_DEVICE_H_
