// A node's delivery of files, as the head receives it: NodeService.DeliverOutput.
#ifndef LANISTA_SRC_RPC_OUTPUT_RECEIVER_H_
#define LANISTA_SRC_RPC_OUTPUT_RECEIVER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "protos/node.pb.h"
#include "src/base/work_queue.h"
#include "src/files/received_outputs.h"
#include "src/rpc/node_limits.h"
#include "src/service/node_gateway.h"

namespace lanista {

//   (start) --> Reading --header--> Asking --> Reading --bytes--> Writing --> Reading ... --end--> Asking --> Finished
//
// One thing at a time, so that gRPC sees one operation, and a node that sends a lot costs one message: the next part is
// read when the last one is on the disk. Files are written on threads of the queue. Who the assignment belongs to is
// asked before the first byte and once more before the set gets to its place. A node that sends nothing for a while is
// given up.
class OutputReceiver final : public grpc::ServerReadReactor<v1::OutputPart>,
                             public std::enable_shared_from_this<OutputReceiver> {
 public:
  // Lives until its call is done, as does `held`. `queue`, `nodes` and `limits` outlive it.
  static OutputReceiver* Start(grpc::CallbackServerContext* context, WorkQueue* queue, NodeGateway* nodes,
                               const NodeLimits& limits, std::shared_ptr<void> held);

 private:
  using Outputs = absl::StatusOr<v1::AssignmentOutputs>;

  OutputReceiver(grpc::CallbackServerContext* context, WorkQueue* queue, NodeGateway* nodes, const NodeLimits& limits,
                 std::shared_ptr<void> held)
      : context_(*context), queue_(*queue), nodes_(*nodes), limits_(limits), held_(std::move(held)) {}

  void OnReadDone(bool ok) override;
  void OnDone() override;

  // On a thread of the queue, as all that follows.
  void OnPart();
  void OnEnd();
  void ReadOn();
  // Calls `then` with what the gateway answers.
  void Ask(std::function<void(const Outputs&)> then);
  void End(const absl::Status& status);

  grpc::CallbackServerContext& context_;
  WorkQueue& queue_;
  NodeGateway& nodes_;
  const NodeLimits& limits_;
  std::shared_ptr<void> held_;
  std::shared_ptr<OutputReceiver> self_;

  v1::OutputPart part_;
  v1::OutputsRequest request_;
  std::optional<ReceivedOutput> output_;
  // Of the read that was begun last.
  std::unique_ptr<grpc::Alarm> idle_;

  std::mutex mutex_;
  // Protected by mutex_. So many reads were begun; which of them has brought nothing yet, or 0.
  int64_t reads_ = 0;
  int64_t awaited_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_OUTPUT_RECEIVER_H_
