// A node's connection to its head: dials, beats, and dials again.
#ifndef LANISTA_SRC_RPC_NODE_CLIENT_H_
#define LANISTA_SRC_RPC_NODE_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/node.pb.h"
#include "src/base/node_link.h"
#include "src/rpc/address.h"
#include "src/rpc/head_access.h"

namespace lanista {

// Has a thread of its own, which keeps one stream after the other open until one ends in a way that another would, too
// (EndsNode), or this object ends. Between two of them it waits, a random part of a time that doubles from 1 s to 30 s,
// so that the nodes of a head that returns do not all come at once. Each time the address is resolved, and the files of
// the access are read, anew.
//
// Once the head has welcomed the node it is told at HeadHello.beat_interval that the node is there, by calls of their
// own. Where it does not answer these, or does not know the node, the stream is given up for another one. Where it
// refuses them, because it takes the node's token no more, the stream says the same. A node that was welcome once does
// not end because of its token: that may be about to be replaced.
class NodeClient {
 public:
  // Called one at a time for each stream, on any thread; none may block.
  struct Handlers {
    // A stream begins; what is said on it waits until the head can be reached.
    std::function<void(const HeadLinkPtr&)> on_open;
    std::function<void(const HeadLinkPtr&, v1::HeadMessage)> on_message;
    // The stream has ended; nothing else comes of it.
    std::function<void(const HeadLinkPtr&, const absl::Status&)> on_closed;
  };
  struct Options {
    // MakeChannel takes it.
    HeadAccess head;
    // Where the head is now, asked before each dial on the thread of the client; an error is logged and counts as a
    // head that is not there. Null: always at head.address.
    std::function<absl::StatusOr<Address>()> find_head;
    // NodeHello.instance.
    std::string instance;
    std::chrono::milliseconds first_delay{1000};
    std::chrono::milliseconds longest_delay{30000};
  };

  NodeClient(Options options, Handlers handlers);
  // Ends the stream, and waits for handlers that run.
  ~NodeClient();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_NODE_CLIENT_H_
