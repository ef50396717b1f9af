// The devices of this machine.
#ifndef LANISTA_SRC_DEVICES_LOCAL_H_
#define LANISTA_SRC_DEVICES_LOCAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/trial.pb.h"

namespace lanista {

// What a `local` block stands for: CPU slots (threads, memory limit), then GPUs. INVALID_ARGUMENT names the field.
absl::StatusOr<std::vector<v1::Device>> LocalDevices(const v1::LocalConfig& config);

// Processors that this process may use.
int AvailableProcessors();

// Memory that this process may use, in bytes: the machine's, or its container's.
int64_t AvailableMemory();

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_LOCAL_H_
