// The connection between a node and a head (protos/node.proto), as both of them see it; and what both have to know.
#ifndef LANISTA_SRC_BASE_NODE_LINK_H_
#define LANISTA_SRC_BASE_NODE_LINK_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "protos/node.pb.h"
#include "src/base/framing.h"

namespace lanista {

// Changes whenever a message of the protocol means something else.
inline constexpr int kNodeProtocolVersion = 2;

// Room for what a trial process may say, and for what a node says of it.
inline constexpr int kMaxNodeMessageBytes = static_cast<int>(kMaxFrameBytes) + (64 << 10);
inline constexpr size_t kMaxNodes = 1000;
inline constexpr int kMaxDevicesOfNode = 1024;

// The head's end. Thread-safe; nothing blocks. Once the stream has ended all calls do nothing.
class NodeLink {
 public:
  virtual ~NodeLink() = default;

  virtual void Send(v1::HeadMessage message) = 0;
  // The node's last message has been dealt with: the next one may come. So a node that says a lot costs one message.
  virtual void Next() = 0;
  // Ends the stream. OK: the node has left.
  virtual void Close(const absl::Status& status) = 0;
};

// The node's end. Thread-safe; nothing blocks. Once the stream has ended all calls do nothing.
class HeadLink {
 public:
  virtual ~HeadLink() = default;

  virtual void Send(v1::NodeMessage message) = 0;
  virtual void Close() = 0;
};

// A node's "I am there" on its way to whoever answers it. It is answered once: with UNAVAILABLE where it is destroyed
// before, because nobody is there any more. Used by one thread at a time.
class Heartbeat {
 public:
  using Done = std::function<void(const absl::Status&)>;

  Heartbeat(v1::BeatRequest request, Done done) : request_(std::move(request)), done_(std::move(done)) {}
  ~Heartbeat();
  Heartbeat(const Heartbeat&) = delete;
  Heartbeat& operator=(const Heartbeat&) = delete;

  const v1::BeatRequest& request() const { return request_; }
  void Answer(const absl::Status& status);

 private:
  const v1::BeatRequest request_;
  // Null: it was answered.
  Done done_;
};

using HeartbeatPtr = std::shared_ptr<Heartbeat>;
using NodeLinkPtr = std::shared_ptr<NodeLink>;
using HeadLinkPtr = std::shared_ptr<HeadLink>;

// OK if a node may be called so: 1 to 100 bytes of UTF-8, on one line, without control characters.
absl::Status CheckNodeName(absl::string_view name);

// Whether a stream that ended so ends the node: trying again would end in the same way.
bool EndsNode(const absl::Status& status);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_NODE_LINK_H_
