// The port of a head, for `serve` and `run`: what the command line says of it, and the nodes that come to it.
#ifndef LANISTA_SRC_LAUNCHER_HEAD_PORT_H_
#define LANISTA_SRC_LAUNCHER_HEAD_PORT_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "src/base/temporary_folder.h"
#include "src/launcher/command_line.h"
#include "src/launcher/commands.h"
#include "src/launcher/local_head.h"
#include "src/rpc/address.h"
#include "src/rpc/head_server.h"
#include "src/rpc/port_protection.h"

namespace lanista {

using TrainingServices = google::protobuf::RepeatedPtrField<v1::TrainingServiceConfig>;

// --listen. INVALID_ARGUMENT: others reach it, and TLS or a token is missing.
absl::StatusOr<Address> ListenAddress(const CommandLine& line);

// OK if what is `missing` to listen there (options of the command line) need not be given: nothing is, other machines
// do not reach the address, or the user wants it so (--insecure). INVALID_ARGUMENT else, with the `option`, why it is a
// danger, and the page of the documentation that has the commands.
absl::Status CheckReach(const CommandLine& line, const Address& address, const std::string& option,
                        const std::string& danger, const std::vector<std::string>& missing, const std::string& docs);

// The files for encryption and tokens.
absl::StatusOr<PortProtection> ProtectionOf(const SafetyOptions& options);

// Whether some block brings nodes.
bool SeeksNodes(const TrainingServices& blocks);

// The token of nodes whose tunnels end on this machine, in a file that this user alone can read, as long as this lives.
class TunnelToken {
 public:
  // nullopt: no block wants tunnels.
  static absl::StatusOr<std::optional<TunnelToken>> MakeIfWanted(const TrainingServices& blocks);

  const std::string& token() const { return token_; }
  std::string file() const;

 private:
  TunnelToken(TemporaryFolder folder, std::string token) : folder_(std::move(folder)), token_(std::move(token)) {}

  TemporaryFolder folder_;
  std::string token_;
};

// LocalHead::SeekNodes, for nodes that run this program. `server` was started with the file of `tunnel_token`, where
// there is one.
absl::Status SeekNodes(const CommandContext& context, LocalHead& head, const TrainingServices& blocks,
                       const std::string& state_dir, const HeadServer& server,
                       const std::optional<TunnelToken>& tunnel_token);

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_HEAD_PORT_H_
