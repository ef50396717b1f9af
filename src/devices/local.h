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

// What a machine has for this process.
struct Machine {
  std::string name;
  std::string cpu_model;
  int processors = 1;
  // Bytes.
  int64_t memory = 0;
  std::vector<Gpu> gpus;
  // CUDA_VISIBLE_DEVICES, if it is set.
  std::optional<std::string> visible_gpus;
};

// This one. GPUs are listed only if asked for.
Machine ThisMachine(bool with_gpus);

// What a `local` block stands for: CPU slots (threads, memory limit), then GPUs. INVALID_ARGUMENT names the field and
// what the machine has.
absl::StatusOr<std::vector<v1::Device>> LocalDevices(const v1::LocalConfig& config, const Machine& machine);

// The most CPU slots of a machine, and the most threads of a slot. More would only take turns, and each slot costs a
// process with LibTorch.
int MostSlots(const Machine& machine);

// Processors that this process may use: those that it may run on, as far as its control group gives it time for them.
// At least 1.
int AvailableProcessors();

// Memory that this process may use, in bytes: the machine's, or its control group's.
int64_t AvailableMemory();

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_LOCAL_H_
