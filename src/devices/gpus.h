// The NVIDIA GPUs of this machine, found without CUDA or LibTorch: the driver's management library (NVML) is loaded
// when needed.
#ifndef LANISTA_SRC_DEVICES_GPUS_H_
#define LANISTA_SRC_DEVICES_GPUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lanista {

struct Gpu {
  // The GPU's number in CUDA programs that inherit this process's environment: counted over the GPUs that
  // CUDA_VISIBLE_DEVICES names, in the order of that variable; without the variable in the order of the PCI bus, as
  // nvidia-smi shows them. (Trial processes get another CUDA_VISIBLE_DEVICES.)
  int index = 0;
  // The driver's identifier: "GPU-...", or "MIG-..." for a part of a GPU.
  std::string uuid;
  std::string model;
  // Bytes.
  int64_t memory = 0;
  // Whether other processes use it for computation.
  bool active = false;
};

// The GPUs that this process may use; empty if there is no driver. `visible`: the value of CUDA_VISIBLE_DEVICES,
// nullopt if it is not set. As in CUDA, its entries are indices (in the order of the PCI bus), UUIDs or unique prefixes
// of UUIDs; the first entry that is no GPU ends the list, and a GPU that is named twice makes it empty. `library`: the
// file of NVML, for tests.
std::vector<Gpu> ListGpus(const std::optional<std::string>& visible, const std::string& library = "libnvidia-ml.so.1");

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_GPUS_H_
