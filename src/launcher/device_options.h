// --cpu-slots and --gpus.
#ifndef LANISTA_SRC_LAUNCHER_DEVICE_OPTIONS_H_
#define LANISTA_SRC_LAUNCHER_DEVICE_OPTIONS_H_

#include "protos/experiment.pb.h"
#include "src/launcher/command_line.h"

namespace lanista {

// A `local` block with the devices of the command line.
inline v1::ExperimentConfig DevicesOf(const CommandLine& line) {
  v1::ExperimentConfig config;
  v1::LocalConfig& local = *config.add_training_service()->mutable_local();
  if (line.cpu_slots.has_value()) local.set_cpu_slots(*line.cpu_slots);
  for (const int gpu : line.gpus) local.add_gpu_indices(gpu);
  return config;
}

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_DEVICE_OPTIONS_H_
