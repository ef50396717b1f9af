// Whether a configuration is right, as far as that can be told without touching the data: by the options of its fields
// (protos/options.proto), and by the checks that components register for their messages (field_rules.h). This room has
// the checks of what belongs to no component. Components check the messages that they are made from with this, too.
#ifndef LANISTA_SRC_CONFIG_VALIDATE_H_
#define LANISTA_SRC_CONFIG_VALIDATE_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "src/base/field_rules.h"

namespace lanista {

// The first thing that is wrong with `config`, an ExperimentConfig or any message in one; nullopt if it is fine.
std::optional<Violation> FindViolation(const google::protobuf::Message& config);

// INVALID_ARGUMENT "PATH.field: what is wrong"; `path` leads to `config` and may be empty.
absl::Status CheckConfig(const google::protobuf::Message& config, const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_VALIDATE_H_
