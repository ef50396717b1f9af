// The port on which a head serves clients and nodes: gRPC with health checks (grpc.health.v1) and reflection.
#ifndef LANISTA_SRC_RPC_HEAD_SERVER_H_
#define LANISTA_SRC_RPC_HEAD_SERVER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "src/rpc/address.h"
#include "src/rpc/node_limits.h"
#include "src/rpc/port_protection.h"
#include "src/service/experiments.h"
#include "src/service/node_gateway.h"
#include "src/telemetry/telemetry.h"

namespace lanista {

class HeadServer {
 public:
  // Takes the port; all calls get UNAVAILABLE until Open. Port 0: any free one. UNAVAILABLE: it cannot listen there.
  // Other errors: a file of `protection` is wrong. `experiments` must outlive it. `telemetry`: what it
  // refuses. `tunnel_token_file`: see tunnel_address; empty: there is no such port.
  static absl::StatusOr<std::unique_ptr<HeadServer>> Start(const Address& address, Experiments* experiments,
                                                           const PortProtection& protection = {},
                                                           TelemetryPtr telemetry = std::make_shared<Telemetry>(),
                                                           const std::string& tunnel_token_file = "");
  // Cancels streams, and waits for calls: what blocks in `experiments` must be about to return.
  ~HeadServer();

  // Nodes may join, once it serves. `nodes` must outlive it. `program`: of the head's own trial processes; empty: it
  // has none. REQUIRES: before Open.
  void AcceptNodes(NodeGateway* nodes, const std::string& program, const NodeLimits& limits = {});

  // Serves from now on.
  void Open();
  // Calls, and streams that are there, get UNAVAILABLE from now on, so that clients come again; calls that have begun
  // get their answers. What runs may end then without a watcher's hearing of it.
  void Close();

  // With the port that it has.
  const Address& address() const;
  // A second port, of this machine only, at which tunnels of other machines end: nodes alone are let in, with a token
  // of the file, and without TLS, because the certificate is for another name and the tunnel encrypts. REQUIRES: Start
  // got the file.
  const Address& tunnel_address() const;

 private:
  class Impl;
  explicit HeadServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_HEAD_SERVER_H_
