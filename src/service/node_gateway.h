// What a head does with nodes (protos/node.proto), whatever they come through.
#ifndef LANISTA_SRC_SERVICE_NODE_GATEWAY_H_
#define LANISTA_SRC_SERVICE_NODE_GATEWAY_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/base/node_link.h"

namespace lanista {

// Thread-safe; nothing blocks. Answers come on any thread, perhaps before the call returns.
class NodeGateway {
 public:
  virtual ~NodeGateway() = default;

  // A node said this on its stream. The next message comes after NodeLink::Next.
  virtual void Receive(const NodeLinkPtr& link, v1::NodeMessage message) = 0;
  // The stream has ended.
  virtual void Lost(const NodeLinkPtr& link) = 0;
  // NOT_FOUND: the node is not known.
  virtual void Beat(const v1::BeatRequest& request, std::function<void(const absl::Status&)> done) = 0;
  // What an assignment of the node's reads. NOT_FOUND: the node has no such assignment.
  virtual void Inputs(const v1::ListInputsRequest& request,
                      std::function<void(absl::StatusOr<v1::AssignmentInputs>)> done) = 0;
  // Where what it writes belongs. NOT_FOUND: as above, or it writes nothing. ABORTED: it was canceled.
  virtual void Outputs(const v1::OutputsRequest& request,
                       std::function<void(absl::StatusOr<v1::AssignmentOutputs>)> done) = 0;
  virtual void List(std::function<void(absl::StatusOr<v1::NodeList>)> done) = 0;
  // NOT_FOUND: there is no such node.
  virtual void Drain(const v1::DrainNodeRequest& request, std::function<void(const absl::Status&)> done) = 0;
};

// List, for callers that may wait. UNAVAILABLE: the head has ended, or does not answer for ten seconds.
absl::StatusOr<v1::NodeList> AwaitNodes(NodeGateway& nodes);

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_NODE_GATEWAY_H_
