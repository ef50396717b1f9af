// The NVIDIA GPUs of this machine, without CUDA or LibTorch: the driver's management library (NVML) is looked for when
// asked.
#ifndef LANISTA_SRC_DEVICES_GPUS_H_
#define LANISTA_SRC_DEVICES_GPUS_H_

#include <cstdint>
#include <string>
#include <vector>

namespace lanista {

struct Gpu {
  // NVML's index, which is CUDA's with CUDA_DEVICE_ORDER=PCI_BUS_ID.
  int index = 0;
  std::string model;
  // Bytes.
  int64_t memory = 0;
  // Whether other processes compute on it.
  bool active = false;
};

// All GPUs; empty where there is no driver.
std::vector<Gpu> ListGpus();

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_GPUS_H_
