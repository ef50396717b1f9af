// How much of a device's memory models may take, and which memory trials are planned for.
#ifndef LANISTA_ENGINES_DEVICE_MEMORY_H_
#define LANISTA_ENGINES_DEVICE_MEMORY_H_

#include <cstdint>
#include <vector>

#include "protos/trial.pb.h"

namespace lanista {

// Bytes that a trial has there: a GPU's memory, or the memory limit of a CPU slot. 0: not known.
int64_t DeviceMemory(const v1::Device& device);

// Whether models that take so many bytes fit into a device with `memory` bytes; into one of unknown memory everything
// does.
bool HasRoomFor(int64_t models, int64_t memory);

// The memory that merged trials are planned for, of the memories of all devices that may run them: the most that two
// thirds of them have. So a small device that joins a large pool does not make all trials small (it gets those that fit
// into it), and most of the devices can run every trial. With one or two devices, that of the smallest. 0: not known.
int64_t PlanningMemory(std::vector<int64_t> memories);

}  // namespace lanista

#endif  // LANISTA_ENGINES_DEVICE_MEMORY_H_
