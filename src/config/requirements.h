// What an experiment's trials require of a device (`requirements` of its configuration), and which devices have it.
#ifndef LANISTA_SRC_CONFIG_REQUIREMENTS_H_
#define LANISTA_SRC_CONFIG_REQUIREMENTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "protos/experiment.pb.h"
#include "src/config/labels.h"

namespace lanista {

// Devices that are alike.
struct OfferedDevices {
  v1::DeviceKind::Kind kind = v1::DeviceKind::KIND_UNSPECIFIED;
  // Bytes of each; 0: not known.
  int64_t memory = 0;
  // Of their machine.
  Labels labels = {};
  int count = 1;
};

// Whether devices of this kind, on a machine with these labels, meet all requirements but that of memory.
bool HasKindAndLabels(const v1::RequirementsConfig& requirements, v1::DeviceKind::Kind kind, const Labels& labels);

// Whether all requirements are met.
bool Meets(const OfferedDevices& devices, const v1::RequirementsConfig& requirements);

// "GPU, at least 16 GiB, label gpu=a100".
std::string RequirementsText(const v1::RequirementsConfig& requirements);

// Why none of the devices meets the requirements, for people: "of 5 devices, 3 are GPUs, none of these has the label
// gpu=a100"; empty: one does.
std::string WhyNoneMeets(const v1::RequirementsConfig& requirements, std::vector<OfferedDevices> devices);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_REQUIREMENTS_H_
