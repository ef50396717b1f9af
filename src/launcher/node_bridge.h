// The way from gRPC's threads to the NodesActor.
#ifndef LANISTA_SRC_LAUNCHER_NODE_BRIDGE_H_
#define LANISTA_SRC_LAUNCHER_NODE_BRIDGE_H_

#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "actors/nodes.h"
#include "caf/actor_system.hpp"
#include "src/service/node_gateway.h"
#include "src/storage/state_dir.h"

namespace lanista {

// The options of a head with this state folder, without the service: a new name for this run of the head, and the
// folder's marker, which is made if it is missing. Errors: the marker cannot be written.
absl::StatusOr<NodesOptions> PrepareForNodes(const StateDir& state_dir, std::chrono::milliseconds lost_after);

// The nodes of the earlier head, as it recorded them (NodesOptions.remember). None if there is no such file or it
// cannot be read; then the trials that these nodes still run are run again.
v1::KnownNodes ReadKnownNodes(const StateDir& state_dir);

// Adds these nodes to the options, for a head that takes them over and records its own nodes.
void RememberNodes(const StateDir& state_dir, NodesOptions* options);

// Owns the actor, which has its own thread. `system` outlives this object.
class NodeBridge : public NodeGateway {
 public:
  NodeBridge(caf::actor_system* system, TrainingServiceActor service, NodesOptions options);

  const NodesActor& actor() const { return nodes_; }
  // Sets the function for the nodes that List adds: those that have not joined yet. REQUIRES: List was not called yet.
  void set_coming(std::function<std::vector<v1::NodeStatus>()> coming) { coming_ = std::move(coming); }
  // Ends the actor; later calls get UNAVAILABLE.
  void End();

  void Receive(const NodeLinkPtr& link, v1::NodeMessage message) override;
  void Lost(const NodeLinkPtr& link) override;
  void Beat(const v1::BeatRequest& request, std::function<void(const absl::Status&)> done) override;
  void Inputs(const v1::ListInputsRequest& request,
              std::function<void(absl::StatusOr<v1::AssignmentInputs>)> done) override;
  void Outputs(const v1::OutputsRequest& request,
               std::function<void(absl::StatusOr<v1::AssignmentOutputs>)> done) override;
  void List(std::function<void(absl::StatusOr<v1::NodeList>)> done) override;
  void Drain(const v1::DrainNodeRequest& request, std::function<void(const absl::Status&)> done) override;

 private:
  // Asks the actor; `done` gets the answer on a thread of the actor system.
  template <typename Answer, typename Message>
  void Ask(Message message, std::function<void(absl::StatusOr<Answer>)> done);

  caf::actor_system& system_;
  NodesActor nodes_;
  std::function<std::vector<v1::NodeStatus>()> coming_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_NODE_BRIDGE_H_
