#include "src/rpc/node_service.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "src/rpc/grpc_status.h"
#include "src/views/nodes_view.h"

namespace lanista {
namespace {

// More than there may be nodes: some join anew while their old streams end.
constexpr size_t kMaxStreams = kMaxNodes + 100;
// What a node that does not read may let wait.
constexpr size_t kMaxQueued = 10000;
constexpr int64_t kMaxQueuedBytes = 256 << 20;

}  // namespace

// A node's stream. Reads the next message when the last one has been dealt with; writes one at a time, and queues those
// that wait. Ends once: whoever wants to, first.
class NodeServiceImpl::Stream final : public grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage>,
                                      public NodeLink,
                                      public std::enable_shared_from_this<Stream> {
 public:
  // `on_done`: nothing of gRPC's happens to it any more.
  Stream(Context* context, NodeGateway* nodes, std::function<void(const std::shared_ptr<Stream>&)> on_done)
      : context_(*context), nodes_(*nodes), on_done_(std::move(on_done)) {}

  // Once there is a shared_ptr to it. It ends, if the node's first message takes longer than `hello_limit`.
  void Begin(std::chrono::milliseconds hello_limit) {
    hello_alarm_.Set(std::chrono::system_clock::now() + hello_limit, [weak = weak_from_this()](bool expired) {
      const std::shared_ptr<Stream> stream = weak.lock();
      if (stream != nullptr && expired) stream->Close(absl::DeadlineExceededError("the node did not say hello"));
    });
    Next();
  }

  void Send(v1::HeadMessage message) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (end_.has_value()) return;
    queued_bytes_ += static_cast<int64_t>(message.ByteSizeLong());
    queue_.push_back(std::move(message));
    if (queue_.size() > kMaxQueued || queued_bytes_ > kMaxQueuedBytes) {
      EndLocked(absl::ResourceExhaustedError("the node does not read what the head says"));
      // Nor would it read this.
      lock.unlock();
      return context_.TryCancel();
    }
    if (queue_.size() == 1) StartWrite(&queue_.front());
  }

  void Next() override {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!end_.has_value()) StartRead(&message_);
  }

  void Close(const absl::Status& status) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EndLocked(status);
  }

 private:
  void OnReadDone(bool ok) override {
    hello_alarm_.Cancel();
    if (!ok) return OnGone();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (end_.has_value()) return;
    }
    nodes_.Receive(shared_from_this(), std::move(message_));
  }

  void OnWriteDone(bool ok) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    queued_bytes_ -= static_cast<int64_t>(queue_.front().ByteSizeLong());
    queue_.pop_front();
    if (end_.has_value()) return Finish(ToGrpcStatus(*end_));
    // OnReadDone or OnCancel says the rest.
    if (ok && !queue_.empty()) StartWrite(&queue_.front());
    if (ok) return;
    queue_.clear();
    queued_bytes_ = 0;
  }

  void OnCancel() override { OnGone(); }

  void OnDone() override {
    nodes_.Lost(shared_from_this());
    on_done_(shared_from_this());
  }

  // The node said its last message, or its connection is lost.
  void OnGone() {
    const std::lock_guard<std::mutex> lock(mutex_);
    EndLocked(absl::CancelledError("the node has gone"));
  }

  void EndLocked(const absl::Status& status) {
    if (end_.has_value()) return;
    end_ = status;
    // A message that is being written stays; when it has left, OnWriteDone ends the stream.
    if (queue_.empty()) return Finish(ToGrpcStatus(status));
    queue_.erase(queue_.begin() + 1, queue_.end());
  }

  Context& context_;
  NodeGateway& nodes_;
  const std::function<void(const std::shared_ptr<Stream>&)> on_done_;
  v1::NodeMessage message_;
  // Until the first message.
  grpc::Alarm hello_alarm_;

  std::mutex mutex_;
  // Protected by mutex_. The first of the queue is being written.
  std::deque<v1::HeadMessage> queue_;
  int64_t queued_bytes_ = 0;
  // Absent: it has not ended.
  std::optional<absl::Status> end_;
};

void NodeServiceImpl::Accept(NodeGateway* nodes, std::string program, std::chrono::milliseconds hello_limit) {
  nodes_ = nodes;
  hello_limit_ = hello_limit;
  program_ = std::move(program);
}

void NodeServiceImpl::Open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_ = true;
}

void NodeServiceImpl::Close() {
  std::set<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = false;
    streams = streams_;
  }
  for (const std::shared_ptr<Stream>& stream : streams) stream->Close(absl::UnavailableError("the head ends"));
}

absl::Status NodeServiceImpl::CheckOpen() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (open_ && nodes_ != nullptr) return absl::OkStatus();
  return absl::UnavailableError("this head has not begun yet, or ends; try again");
}

grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage>* NodeServiceImpl::Join(Context* context) {
  // One that is refused only ends.
  class Refused final : public grpc::ServerBidiReactor<v1::NodeMessage, v1::HeadMessage> {
   public:
    explicit Refused(const absl::Status& status) { Finish(ToGrpcStatus(status)); }
    void OnDone() override { delete this; }
  };
  const absl::Status open = CheckOpen();
  if (!open.ok()) return new Refused(open);
  const auto stream = std::make_shared<Stream>(context, nodes_, [this](const std::shared_ptr<Stream>& done) {
    const std::lock_guard<std::mutex> lock(mutex_);
    streams_.erase(done);
  });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (streams_.size() >= kMaxStreams) {
      return new Refused(absl::ResourceExhaustedError("this head has too many streams of nodes; try again"));
    }
    streams_.insert(stream);
  }
  stream->Begin(hello_limit_);
  return stream.get();
}

grpc::ServerUnaryReactor* NodeServiceImpl::Beat(Context* context, const v1::BeatRequest* request, v1::BeatReply*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (open.ok()) {
    nodes_->Beat(*request, [reactor](const absl::Status& status) { reactor->Finish(ToGrpcStatus(status)); });
  } else {
    reactor->Finish(ToGrpcStatus(open));
  }
  return reactor;
}

grpc::ServerUnaryReactor* NodeServiceImpl::ListNodes(Context* context, const v1::ListNodesRequest*,
                                                     v1::ListNodesReply* reply) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (!open.ok()) {
    reactor->Finish(ToGrpcStatus(open));
    return reactor;
  }
  nodes_->List([reactor, reply, program = program_](const absl::StatusOr<v1::NodeList>& list) {
    if (list.ok()) reply->set_json(ToText(NodesDocument(*list, program)));
    reactor->Finish(ToGrpcStatus(list.status()));
  });
  return reactor;
}

grpc::ServerUnaryReactor* NodeServiceImpl::DrainNode(Context* context, const v1::DrainNodeRequest* request,
                                                     v1::DrainNodeReply*) {
  grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
  const absl::Status open = CheckOpen();
  if (open.ok()) {
    nodes_->Drain(*request, [reactor](const absl::Status& status) { reactor->Finish(ToGrpcStatus(status)); });
  } else {
    reactor->Finish(ToGrpcStatus(open));
  }
  return reactor;
}

}  // namespace lanista
