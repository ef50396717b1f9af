// A client's upload, as a stream of gRPC's: ExperimentService.Upload.
#ifndef LANISTA_SRC_RPC_UPLOAD_STREAM_H_
#define LANISTA_SRC_RPC_UPLOAD_STREAM_H_

#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "grpcpp/alarm.h"
#include "grpcpp/grpcpp.h"
#include "protos/service.pb.h"
#include "src/base/work_queue.h"
#include "src/service/experiments.h"
#include "src/service/upload_session.h"

namespace lanista {

// Carries an UploadSession: reads a request, lets the session handle it on the queue, writes the answers, and reads
// again. Reads, writes and work on the disk take turns: whoever has the turn is the only one to touch the state. Any
// error ends the stream, and so does a client that says or reads nothing for `idle_limit`.
class UploadStream final : public grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>,
                           public std::enable_shared_from_this<UploadStream> {
 public:
  // Lives until its call, that of `context`, is done. `slot`: what it holds as long as it lives. `queue` does what
  // takes long.
  static UploadStream* Start(grpc::CallbackServerContext* context, Experiments* experiments, WorkQueue* queue,
                             std::shared_ptr<void> slot, std::chrono::milliseconds idle_limit);

 private:
  // What the client is to do.
  enum class Client { kWaits, kSends, kReads };

  UploadStream(grpc::CallbackServerContext* context, Experiments* experiments, WorkQueue* queue,
               std::shared_ptr<void> slot, std::chrono::milliseconds idle_limit)
      : context_(*context),
        queue_(*queue),
        slot_(std::move(slot)),
        idle_limit_(idle_limit),
        session_([experiments](v1::UploadList list) { return experiments->BeginUpload(std::move(list)); }) {}

  // The client has `idle_limit` for it from now on.
  void Await(Client client);
  void Read();
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  // On the queue: does what the request asks for.
  void Handle();
  // Writes the next reply, or reads, or ends.
  void GoOn();
  // REQUIRES: it is the caller's turn.
  void End(const absl::Status& status);
  // The client took too long for what it was to do.
  void OnIdle();

  grpc::CallbackServerContext& context_;
  WorkQueue& queue_;
  const std::shared_ptr<void> slot_;
  const std::chrono::milliseconds idle_limit_;
  std::shared_ptr<UploadStream> self_;

  // Of whose turn it is.
  UploadSession session_;
  v1::UploadRequest request_;
  std::deque<v1::UploadReply> replies_;
  std::unique_ptr<grpc::Alarm> alarm_;

  std::mutex mutex_;
  // Protected by mutex_.
  Client client_ = Client::kWaits;
  bool ended_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_UPLOAD_STREAM_H_
