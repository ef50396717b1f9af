// The devices of this machine.
#ifndef LANISTA_SRC_DEVICES_LOCAL_H_
#define LANISTA_SRC_DEVICES_LOCAL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/trial.pb.h"
#include "src/devices/gpus.h"

namespace lanista {

// The resources of a machine that this process may use.
struct Machine {
  std::string name;
  std::string cpu_model;
  int processors = 1;
  // Bytes.
  int64_t memory = 0;
  std::vector<Gpu> gpus;
  // The value of CUDA_VISIBLE_DEVICES, if it is set.
  std::optional<std::string> visible_gpus;
};

// The machine that this process runs on. GPUs are listed only if `with_gpus`.
Machine ThisMachine(bool with_gpus);

// The devices of a `local` block: CPU slots (threads, memory limit), then GPUs. INVALID_ARGUMENT names the field and
// what the machine has.
absl::StatusOr<std::vector<v1::Device>> LocalDevices(const v1::LocalConfig& config, const Machine& machine);

// INVALID_ARGUMENT: what each of so many devices has of the machine's memory (bytes) is too little for a trial process.
absl::Status CheckMemoryShare(int64_t share, size_t devices);

// The largest number of CPU slots on a machine, and of threads per slot. More would only share the processors, and each
// slot needs a process with LibTorch.
int MostSlots(const Machine& machine);

// Number of processors that this process may use: by its CPU affinity, its control group's quota (rounded down), and
// Slurm's word. At least 1.
int AvailableProcessors();

// Memory that this process may use, in bytes: all of the machine's, or its control group's limit, or
// what Slurm gave its job.
int64_t AvailableMemory();

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_LOCAL_H_
