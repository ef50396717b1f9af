// A server's stream of messages that are made on threads of a WorkQueue, one at a time: the next one is made when the
// last one has left. So a client that reads slowly, or not at all, costs one message.
#ifndef LANISTA_SRC_RPC_STREAM_WRITER_H_
#define LANISTA_SRC_RPC_STREAM_WRITER_H_

#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/grpcpp.h"
#include "src/base/work_queue.h"
#include "src/rpc/grpc_status.h"

namespace lanista {

//                Wake, OnCancel           kWrite
//   (start) --> Idle -----> Making -----------------------> Writing
//                 ^         |  |  ^                             |
//                 +---------+  |  +-----------------------------+
//                    kWait     |             OnWriteDone
//                              +--> Finished: kEnd, an error, or the client has gone
//
// Whoever moves to Making or Writing is the only one who may move on, so that gRPC sees one operation at a time.
template <typename Message>
class StreamWriter : public grpc::ServerWriteReactor<Message> {
 public:
  // What there is to do after a message was made.
  enum class Made { kWrite, kWait, kEnd };
  // Fills in the next message. Called on a thread of the queue, never twice at a time.
  using Make = std::function<absl::StatusOr<Made>(Message*)>;

  // Lives until its call is done. It makes nothing before the first Wake.
  static std::shared_ptr<StreamWriter> Start(WorkQueue* queue) {
    auto writer = std::shared_ptr<StreamWriter>(new StreamWriter(queue));
    writer->self_ = writer;
    return writer;
  }

  // REQUIRES: before the first Wake. `make` may hold what ends with the stream.
  void SetMake(Make make) { make_ = std::move(make); }

  // Something may be there to be made. Thread-safe; does not block.
  void Wake() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      woken_ = true;
      if (state_ != State::kIdle) return;
      state_ = State::kMaking;
    }
    Post();
  }

 private:
  enum class State { kIdle, kMaking, kWriting, kFinished };

  explicit StreamWriter(WorkQueue* queue) : queue_(*queue) {}

  void Post() {
    queue_.Post([self = self_] { self->MakeNext(); });
  }

  void MakeNext() {
    while (true) {
      bool canceled = false;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        woken_ = false;
        canceled = canceled_;
      }
      if (canceled) return End(absl::CancelledError("the client has gone"));
      message_.Clear();
      const absl::StatusOr<Made> made = make_(&message_);
      if (!made.ok()) return End(made.status());
      if (*made == Made::kEnd) return End(absl::OkStatus());
      const std::lock_guard<std::mutex> lock(mutex_);
      if (*made == Made::kWrite) {
        state_ = State::kWriting;
        break;
      }
      if (!woken_ && !canceled_) {
        state_ = State::kIdle;
        return;
      }
    }
    this->StartWrite(&message_);
  }

  void OnWriteDone(bool ok) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      state_ = State::kMaking;
      if (!ok) canceled_ = true;
    }
    Post();
  }

  void OnCancel() override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      canceled_ = true;
      if (state_ != State::kIdle) return;
      state_ = State::kMaking;
    }
    Post();
  }

  void OnDone() override {
    make_ = nullptr;
    // Perhaps the last one to hold this.
    const std::shared_ptr<StreamWriter> self = std::move(self_);
  }

  void End(const absl::Status& status) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      state_ = State::kFinished;
    }
    this->Finish(ToGrpcStatus(status));
  }

  WorkQueue& queue_;
  Make make_;
  Message message_;
  std::shared_ptr<StreamWriter> self_;

  std::mutex mutex_;
  // Protected by mutex_.
  State state_ = State::kIdle;
  bool woken_ = false;
  bool canceled_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_STREAM_WRITER_H_
