// The port of a head, for `serve` and `run`: what the command line says of it, and the nodes that come to it.
#ifndef LANISTA_SRC_LAUNCHER_HEAD_PORT_H_
#define LANISTA_SRC_LAUNCHER_HEAD_PORT_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "src/launcher/command_line.h"
#include "src/launcher/commands.h"
#include "src/launcher/local_head.h"
#include "src/rpc/address.h"
#include "src/rpc/port_protection.h"

namespace lanista {

using TrainingServices = google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>;

// --listen. INVALID_ARGUMENT: others reach it, and TLS or a token is missing.
absl::StatusOr<Address> ListenAddress(const CommandLine& line);

// The files for encryption and tokens.
absl::StatusOr<PortProtection> ProtectionOf(const SafetyOptions& options);

// Whether some block brings nodes.
bool SeeksNodes(const TrainingServices& blocks);

// LocalHead::SeekNodes, for nodes that run this program.
absl::Status SeekNodes(const CommandContext& context, LocalHead& head, const TrainingServices& blocks,
                       const std::string& state_dir, const Address& address);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_HEAD_PORT_H_
