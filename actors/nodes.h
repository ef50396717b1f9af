// NodesActor: the nodes of a head: who joins, who is silent, who is lost. What a node runs is RemoteNode's.
//
//   (unknown) --(1)--> JOINED --(2)--> SILENT --(4)--> (unknown)
//                        ^  \             |
//                        +---\----(3)-----+
//                             +--(5)--> (unknown)
//
//   1. It said hello. Its name belongs to it then: another instance gets ALREADY_EXISTS; UNAVAILABLE, where the
//      connection of the first one is lost, or two beats of it are missing (its machine may have lost power), so that
//      the other one tries again.
//   2. Nothing was heard of it for longer than the lease: no new work. From now on another instance may have its name,
//      and this one is lost then.
//   3. It beats, or says something: on its stream, or on a new one, which takes the place of the old one.
//   4. Nothing was heard for lost_after: what it ran is LOST (NODE_LOST). If it returns it is a new node.
//   5. It left (NODE_LEFT), or it broke the protocol: its stream ends with INVALID_ARGUMENT.
//
// A node that this head did not know may have trials of a head that had the same state folder. It is welcomed once the
// training service has said which of them go on (NodeReturned); until then its name is taken.
//
// Which nodes there are, and which of them drain, is written down for the next head.
//
// A node that DRAINs gets no new work, either, and is told when it has none left.
//
// A node's next message is read when the last one was dealt with; and not before the journals have caught up, where its
// trials, or those of all nodes, have too many reports on their way there. Heartbeats come besides.
#ifndef LANISTA_ACTORS_NODES_H_
#define LANISTA_ACTORS_NODES_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "actors/remote_node.h"
#include "actors/remote_worker.h"
#include "caf/stateful_actor.hpp"
#include "caf/typed_event_based_actor.hpp"

namespace lanista {

class NodesState {
 public:
  static inline const char* name = "nodes";

  explicit NodesState(NodesSelf::pointer self) : self_(self) {}

  NodesSelf::behavior_type MakeBehavior(NodesOptions options);

 private:
  using Nodes = std::map<std::string, std::shared_ptr<RemoteNode>>;

  void OnMessage(const NodeLinkPtr& link, v1::NodeMessage message);
  // An error ends the stream; the node, if the stream is one's, is lost.
  absl::Status Handle(const NodeLinkPtr& link, v1::NodeMessage message);
  absl::Status OnHello(const NodeLinkPtr& link, const v1::NodeHello& hello);
  // What a new node has of an earlier head goes on, as far as somebody wants it; then it joins.
  void OnReturned(const std::string& instance, const v1::KeptTrials& kept);
  // Ends the stream with this status. If it belongs to a node, that node is lost.
  void Refuse(const NodeLinkPtr& link, const absl::Status& status);
  // Writes down which nodes there are, if that has changed.
  void Remember();
  // The node joins with this stream.
  absl::Status Join(const std::shared_ptr<RemoteNode>& node, const NodeLinkPtr& link, const v1::NodeHello& hello);
  // Whether the name is free. Whoever had it and is silent is lost.
  absl::Status TakeName(const v1::NodeHello& hello);
  // Looks at who is silent, and does so again in a second, as long as there are nodes.
  void Look();
  void BeginLooking();
  // Tells telemetry how many there are.
  void CountNodes();
  // The next message of a stream may come, now or when the journals have caught up.
  void ReadOn(const NodeLinkPtr& link);
  // Reads on where that was put off, if it may be now.
  void ReadOnWhereItMayBe();

  // The node whose stream this is; null: it is none's.
  std::shared_ptr<RemoteNode> Find(const NodeLinkPtr& link) const;
  std::shared_ptr<RemoteNode> FindName(const std::string& name) const;
  // The node with that number; null: it is gone.
  std::shared_ptr<RemoteNode> FindNumber(int32_t number) const;
  void Remove(const std::shared_ptr<RemoteNode>& node, v1::ModelEnded::LostCause cause, const std::string& why,
              const absl::Status& status);

  NodesSelf::pointer self_;
  NodesOptions options_;
  // The nodes by their instance ids, and by their numbers at this head.
  Nodes nodes_;
  std::map<int32_t, std::shared_ptr<RemoteNode>> numbers_;
  // By their streams (RemoteNode::link), for those that have one: each message looks here.
  std::unordered_map<const NodeLink*, std::shared_ptr<RemoteNode>> links_;
  int32_t last_number_ = 0;
  // What the trials of all nodes have reported and is not recorded, in excess of what each may: see RemoteNode.
  EventAmount unrecorded_;
  // Nodes that are not welcomed yet, by instance: their streams (null: lost), and what they said on them.
  struct Joining {
    NodeLinkPtr link;
    v1::NodeHello hello;
  };
  std::map<std::string, Joining> joining_;
  // Those of the head before that have not returned, by instance; and until when they are remembered.
  std::map<std::string, v1::KnownNode> absent_;
  RemoteNode::TimePoint forgets_;
  std::string remembered_;
  // Streams that are not read at the moment.
  std::vector<NodeLinkPtr> put_off_;
  // When it last looked; nullopt: it does not.
  std::optional<RemoteNode::TimePoint> looked_;
};

// Spawn it detached: heartbeats wait for nobody then.
NodesSelf::behavior_type Nodes(NodesSelf::stateful_pointer<NodesState> self, NodesOptions options);

}  // namespace lanista

#endif  // LANISTA_ACTORS_NODES_H_
