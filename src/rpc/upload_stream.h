// A client's upload, as a stream of gRPC's: ExperimentService.Upload.
#ifndef LANISTA_SRC_RPC_UPLOAD_STREAM_H_
#define LANISTA_SRC_RPC_UPLOAD_STREAM_H_

#include <chrono>
#include <cstdint>
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

namespace lanista {

//   Listing --(1)--> Answering --(2)--> Receiving --(3)--> Answering --(4)--> Finished
//
//   1. The last part of the list came.
//   2. The client knows what is wanted.
//   3. All of that came. Where nothing is wanted it goes on at once.
//   4. The client knows the folder.
//
// Reads, writes and work on the disk take turns: whoever has the turn is the only one to touch the state. Any error
// ends the stream, and so does a client that says nothing for `idle_limit`.
class UploadStream final : public grpc::ServerBidiReactor<v1::UploadRequest, v1::UploadReply>,
                           public std::enable_shared_from_this<UploadStream> {
 public:
  // Lives until its call is done. `slot`: what it holds as long as it lives. `queue` does what takes long.
  static UploadStream* Start(Experiments* experiments, WorkQueue* queue, std::shared_ptr<void> slot,
                             std::chrono::milliseconds idle_limit);

 private:
  UploadStream(Experiments* experiments, WorkQueue* queue, std::shared_ptr<void> slot,
               std::chrono::milliseconds idle_limit)
      : experiments_(*experiments), queue_(*queue), slot_(std::move(slot)), idle_limit_(idle_limit) {}

  void Read();
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  // On the queue: does what the request asks for.
  absl::Status Handle();
  absl::Status HandleList(v1::UploadList part);
  // The upload has begun: says what is wanted.
  void Answer();
  absl::Status AnswerIfComplete();
  // Writes the next reply, or reads, or ends.
  void GoOn();
  // REQUIRES: it is the caller's turn.
  void End(const absl::Status& status);
  // The client has said nothing for too long.
  void OnIdle();

  Experiments& experiments_;
  WorkQueue& queue_;
  const std::shared_ptr<void> slot_;
  const std::chrono::milliseconds idle_limit_;
  std::shared_ptr<UploadStream> self_;

  // Of whose turn it is.
  v1::UploadRequest request_;
  std::deque<v1::UploadReply> replies_;
  v1::UploadList list_;
  int64_t list_bytes_ = 0;
  // Null: the list is not complete.
  std::unique_ptr<Upload> upload_;
  bool done_ = false;
  // While it reads.
  std::unique_ptr<grpc::Alarm> alarm_;

  std::mutex mutex_;
  // Protected by mutex_.
  bool reading_ = false;
  bool ended_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_UPLOAD_STREAM_H_
