// The origin of devices: the `training_service` blocks of a configuration.
#ifndef LANISTA_SRC_DEVICES_DEVICE_SOURCE_H_
#define LANISTA_SRC_DEVICES_DEVICE_SOURCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/trial.pb.h"
#include "src/base/custom.h"
#include "src/base/registry.h"

namespace lanista {

// One `training_service` block.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  // The devices of the block, at least one. INVALID_ARGUMENT names the field and what this machine has.
  virtual absl::StatusOr<std::vector<v1::Device>> Devices() const = 0;
};

// Factories take (config).
using DeviceSourceRegistry = Registry<DeviceSource, v1::TrainingServiceConfig>;

namespace kinds {
// For LANISTA_REGISTER(device_source, "name", make).
struct device_source : CustomKind<DeviceSourceRegistry> {};
}  // namespace kinds

// The devices of all blocks but those that bring nodes (node_source.h); without blocks, those of one `local` block with
// default values. CPU slots without a memory_limit of their own get the machine's memory, divided by the devices of all
// blocks. INVALID_ARGUMENT: two blocks name the same GPU, there are more CPU slots than MostSlots, or an IN_PROCESS
// device is not the only one.
absl::StatusOr<std::vector<v1::Device>> SelectDevices(
    const google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>& blocks);

// These devices of a machine, and behind them the place that it offers for preparing work (Device.prepares): a CPU with
// one thread and as much memory as the largest of them. None where there is no device, or one is IN_PROCESS: there
// LibTorch's state is the process's.
std::vector<v1::Device> WithPlace(std::vector<v1::Device> devices);

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_DEVICE_SOURCE_H_
