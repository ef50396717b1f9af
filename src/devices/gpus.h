// The NVIDIA GPUs of this machine, without CUDA or LibTorch: the driver's management library (NVML) is looked for when
// asked.
#ifndef LANISTA_SRC_DEVICES_GPUS_H_
#define LANISTA_SRC_DEVICES_GPUS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lanista {

struct Gpu {
  // Its number for CUDA programs, this one's children aside: among the GPUs that CUDA_VISIBLE_DEVICES leaves, in the
  // order of that variable; without the variable in the order of the PCI bus, as nvidia-smi shows them.
  int index = 0;
  // What the driver identifies it by: "GPU-...", or "MIG-..." for a part of one.
  std::string uuid;
  std::string model;
  // Bytes.
  int64_t memory = 0;
  // Whether other processes compute on it.
  bool active = false;
};

// The GPUs that this process may use; empty where there is no driver. `visible`: CUDA_VISIBLE_DEVICES, nullopt if it is
// not set. As in CUDA, its entries are indices (of the PCI bus's order), UUIDs or the beginnings of UUIDs, and the
// first that is no GPU ends the list. `library`: NVML's file, for tests.
std::vector<Gpu> ListGpus(const std::optional<std::string>& visible, const std::string& library = "libnvidia-ml.so.1");

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_GPUS_H_
