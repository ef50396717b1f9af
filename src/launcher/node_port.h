// The port of a search's own nodes, for `run` and `resume`.
#ifndef LANISTA_SRC_LAUNCHER_NODE_PORT_H_
#define LANISTA_SRC_LAUNCHER_NODE_PORT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/launcher/commands.h"
#include "src/launcher/head_port.h"
#include "src/launcher/local_head.h"
#include "src/rpc/head_server.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/storage/state_dir.h"

namespace lanista {

// Nodes join there, and clients may look at what is there; nobody can submit. Must be closed before the head ends, and
// destroyed before it is.
class NodePort {
 public:
  // Listens, and asks for the nodes of these blocks. `context` says where, and how it is protected.
  static absl::StatusOr<std::unique_ptr<NodePort>> Open(const CommandContext& context, LocalHead& head,
                                                        const TrainingServices& blocks, const StateDir& state_dir,
                                                        const TelemetryPtr& telemetry);

  // Where nodes of other machines reach it.
  std::string address() const { return address_.ToText(); }
  // What comes from now on gets UNAVAILABLE.
  void Close() { server_->Close(); }

 private:
  explicit NodePort(const StateDir& state_dir) : experiments_(state_dir, /*runner=*/nullptr, &news_) {}

  News news_;
  Experiments experiments_;
  // Before the server, which reads its file.
  std::optional<TunnelToken> tunnel_token_;
  std::unique_ptr<HeadServer> server_;
  Address address_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_NODE_PORT_H_
