// Which devices of this machine meet an experiment's requirements.
#ifndef LANISTA_SRC_LAUNCHER_DEVICE_REQUIREMENTS_H_
#define LANISTA_SRC_LAUNCHER_DEVICE_REQUIREMENTS_H_

#include <string>
#include <vector>

#include "protos/experiment.pb.h"
#include "protos/trial.pb.h"
#include "src/config/labels.h"

namespace lanista {

// Brings the devices to the front that meet the requirements; returns how many do. `labels`: this machine's.
size_t PutFittingFirst(const v1::RequirementsConfig& requirements, const Labels& labels,
                       std::vector<v1::Device>* devices);

// "no device of this machine meets them (GPU): of 2 devices, none is a GPU"; empty: one does.
std::string WhyNoDeviceFits(const v1::RequirementsConfig& requirements, const Labels& labels,
                            const std::vector<v1::Device>& devices);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_DEVICE_REQUIREMENTS_H_
