// The port of a search's own nodes, for `run` and `resume`.
#ifndef LANISTA_SRC_LAUNCHER_NODE_PORT_H_
#define LANISTA_SRC_LAUNCHER_NODE_PORT_H_

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "src/launcher/commands.h"
#include "src/launcher/head_port.h"
#include "src/launcher/local_head.h"
#include "src/launcher/trial_model_maker.h"
#include "src/launcher/trial_program.h"
#include "src/rpc/head_server.h"
#include "src/service/experiments.h"
#include "src/service/news.h"
#include "src/service/node_gateway.h"
#include "src/storage/state_dir.h"

namespace lanista {

// Nodes join here, and clients may read and export; nobody can submit. Must be closed before the head ends, and
// destroyed before the head is destroyed.
class NodePort {
 public:
  // Listens, and requests the nodes of these blocks. `context` says where to listen, and how the port is protected.
  static absl::StatusOr<std::unique_ptr<NodePort>> Open(const CommandContext& context, LocalHead& head,
                                                        const TrainingServices& blocks, const StateDir& state_dir,
                                                        const TelemetryPtr& telemetry);

  // The address at which nodes of other machines reach it.
  std::string address() const { return address_.ToText(); }
  // The document of `nodes`.
  absl::StatusOr<nlohmann::ordered_json> Nodes() const;
  // Later calls get UNAVAILABLE.
  void Close() { server_->Close(); }

 private:
  NodePort(const StateDir& state_dir, const TrialProgram& trial_program)
      : model_maker_(trial_program),
        experiments_(state_dir, /*runner=*/nullptr, &news_, {kMaxExperiments, {}, &model_maker_}) {}

  News news_;
  TrialModelMaker model_maker_;
  Experiments experiments_;
  // Declared before the server, which reads its file.
  std::optional<TunnelToken> tunnel_token_;
  std::unique_ptr<HeadServer> server_;
  Address address_;
  NodeGateway* nodes_ = nullptr;
  std::string program_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_NODE_PORT_H_
