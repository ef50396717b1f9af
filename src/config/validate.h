// What a configuration must hold, and in which ranges.
#ifndef LANISTA_SRC_CONFIG_VALIDATE_H_
#define LANISTA_SRC_CONFIG_VALIDATE_H_

#include <optional>
#include <string>

#include "protos/experiment.pb.h"

namespace lanista {

// What is wrong, and where.
struct Violation {
  // training_service[0].local.cpu_slots. The last step may be a field that is not set.
  std::string path;
  std::string message;
};

// The first thing that is wrong with `config`; nullopt if it is fine.
std::optional<Violation> FindViolation(const v1::ExperimentConfig& config);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_VALIDATE_H_
