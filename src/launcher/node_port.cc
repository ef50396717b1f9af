#include "src/launcher/node_port.h"

#include <chrono>
#include <utility>

#include "nlohmann/json.hpp"
#include "src/base/build_id.h"
#include "src/base/status.h"
#include "src/rpc/head_file.h"
#include "src/rpc/node_limits.h"
#include "src/views/nodes_view.h"

namespace lanista {

absl::StatusOr<std::unique_ptr<NodePort>> NodePort::Open(const CommandContext& context, LocalHead& head,
                                                         const TrainingServices& blocks, const StateDir& state_dir,
                                                         const TelemetryPtr& telemetry) {
  LANISTA_ASSIGN_OR_RETURN(const Address wanted, ListenAddress(context.line));
  LANISTA_ASSIGN_OR_RETURN(const PortProtection protection, ProtectionOf(context.line.safety));
  std::unique_ptr<NodePort> port(new NodePort(state_dir, context.trial_program));
  LANISTA_ASSIGN_OR_RETURN(port->tunnel_token_, TunnelToken::MakeIfWanted(blocks));
  LANISTA_ASSIGN_OR_RETURN(port->server_,
                           HeadServer::Start(wanted, &port->experiments_, protection, telemetry,
                                             port->tunnel_token_.has_value() ? port->tunnel_token_->file() : ""));
  LANISTA_ASSIGN_OR_RETURN(port->address_, AddressForOthers(port->server_->address()));
  LANISTA_ASSIGN_OR_RETURN(port->nodes_, head.AcceptNodes(std::chrono::seconds(context.line.lost_after)));
  LANISTA_RETURN_IF_ERROR(SeekNodes(context, head, blocks, state_dir.root(), *port->server_, port->tunnel_token_));
  port->program_ = ReadBuildId(context.trial_program.path).value_or("");
  NodeLimits limits;
  limits.disk_room = head.disk_room();
  port->server_->AcceptNodes(port->nodes_, port->program_, limits);
  port->server_->Open();
  return port;
}

absl::StatusOr<nlohmann::ordered_json> NodePort::Nodes() const {
  LANISTA_ASSIGN_OR_RETURN(const v1::NodeList list, AwaitNodes(*nodes_));
  return NodesDocument(list, program_);
}

}  // namespace lanista
