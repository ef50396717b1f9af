// Where devices come from: what a `training_service` block of a configuration stands for.
#ifndef LANISTA_SRC_DEVICES_DEVICE_SOURCE_H_
#define LANISTA_SRC_DEVICES_DEVICE_SOURCE_H_

#include <vector>

#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/trial.pb.h"
#include "src/base/registry.h"

namespace lanista {

// One `training_service` block.
class DeviceSource {
 public:
  virtual ~DeviceSource() = default;

  // Its devices, at least one. INVALID_ARGUMENT names the field and what this machine has.
  virtual absl::StatusOr<std::vector<v1::Device>> Devices() const = 0;
};

using DeviceSourceRegistry = Registry<DeviceSource>;

// The devices of all blocks together; of one `local` block with its defaults where there is none. A GPU that two blocks
// name is an error, and so are more CPU slots than the machine may have (see MostSlots), and IN_PROCESS beside others.
absl::StatusOr<std::vector<v1::Device>> SelectDevices(
    const google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>& blocks);

}  // namespace lanista

#endif  // LANISTA_SRC_DEVICES_DEVICE_SOURCE_H_
