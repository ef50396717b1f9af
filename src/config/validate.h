// What a configuration must hold, and in which ranges: the one place for limits of fields, and for rules over several
// fields, that can be checked without touching the data. Components check the messages that they are made from with
// these rules, too.
#ifndef LANISTA_SRC_CONFIG_VALIDATE_H_
#define LANISTA_SRC_CONFIG_VALIDATE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"

namespace lanista {

// What is wrong, and where.
struct Violation {
  // training_service[0].local.cpu_slots. The last step may be a field that is not set.
  std::string path;
  std::string message;
};

// The first thing that is wrong with `config`, an ExperimentConfig or any message in one; nullopt if it is fine.
std::optional<Violation> FindViolation(const google::protobuf::Message& config);

// INVALID_ARGUMENT "PATH.field: what is wrong"; `path` leads to `config` and may be empty.
absl::Status CheckConfig(const google::protobuf::Message& config, const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_VALIDATE_H_
