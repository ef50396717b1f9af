// A server's stream of messages that are made on threads of a WorkQueue, one at a time: the next one is made when the
// last one has left. So a client that reads slowly, or not at all, costs one message; LimitWrites ends its call.
#ifndef LANISTA_SRC_RPC_STREAM_WRITER_H_
#define LANISTA_SRC_RPC_STREAM_WRITER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "grpcpp/alarm.h"
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

  // REQUIRES: before the first Wake. `make` may hold what ends with the stream, on a thread of the queue.
  void SetMake(Make make) { make_ = std::move(make); }

  // A client that takes no message for so long has gone, or does not mean it: its call is canceled. REQUIRES: before
  // the first Wake. `context`: the call's.
  void LimitWrites(grpc::CallbackServerContext* context, std::chrono::milliseconds limit) {
    context_ = context;
    write_limit_ = limit;
  }

  // The client has gone: what is being made is for nobody. Thread-safe.
  bool canceled() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return canceled_;
  }

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
        ++writes_;
        break;
      }
      if (!woken_ && !canceled_) {
        state_ = State::kIdle;
        return;
      }
    }
    SetAlarm();
    this->StartWrite(&message_);
  }

  void OnWriteDone(bool ok) override {
    if (alarm_ != nullptr) alarm_->Cancel();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      state_ = State::kMaking;
      if (!ok) canceled_ = true;
      if (canceling_) return;
    }
    Post();
  }

  // REQUIRES: a write is about to begin.
  void SetAlarm() {
    if (context_ == nullptr) return;
    alarm_ = std::make_unique<grpc::Alarm>();
    alarm_->Set(std::chrono::system_clock::now() + write_limit_,
                [weak = std::weak_ptr<StreamWriter>(self_), write = writes_](bool expired) {
                  const std::shared_ptr<StreamWriter> writer = weak.lock();
                  if (writer != nullptr && expired) writer->OnStalled(write);
                });
  }

  // This write has taken too long.
  void OnStalled(int64_t write) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      // It was done in this moment.
      if (state_ != State::kWriting || writes_ != write) return;
      canceling_ = true;
    }
    // The write is done now, without success. The call lives as long as nobody moves on.
    context_->TryCancel();
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      canceling_ = false;
      if (state_ != State::kMaking) return;
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
    // What it holds may have files to remove, and gRPC's threads must not wait for the disk.
    queue_.Post([make = std::move(make_)] {});
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
  // Null: a write may take as long as it likes.
  grpc::CallbackServerContext* context_ = nullptr;
  std::chrono::milliseconds write_limit_{0};
  // Of the write that was begun last.
  std::unique_ptr<grpc::Alarm> alarm_;

  std::mutex mutex_;
  // Protected by mutex_.
  State state_ = State::kIdle;
  bool woken_ = false;
  bool canceled_ = false;
  // So many were begun.
  int64_t writes_ = 0;
  // A write that has taken too long is being canceled: whoever does so moves on.
  bool canceling_ = false;
};

}  // namespace lanista

#endif  // LANISTA_SRC_RPC_STREAM_WRITER_H_
