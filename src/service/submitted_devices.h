// What a configuration that a client submits may say of devices.
#ifndef LANISTA_SRC_SERVICE_SUBMITTED_DEVICES_H_
#define LANISTA_SRC_SERVICE_SUBMITTED_DEVICES_H_

#include "absl/status/status.h"
#include "protos/experiment.pb.h"

namespace lanista {

// Makes a cap of `config.training_service`, because the head that the configuration is submitted to has its devices
// already: as many trials run at once as the blocks have cpu_slots and gpu_indices, and no more than trial_concurrency
// says. A block with neither caps nothing, and with `remote {}`, nodes that join by themselves, there is no cap. Leaves
// one block that says nothing more. INVALID_ARGUMENT names a field that would change what the devices are like;
// PERMISSION_DENIED a kind of service that only the head's owner may ask for.
absl::Status CapByTrainingService(v1::ExperimentConfig* config);

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_SUBMITTED_DEVICES_H_
