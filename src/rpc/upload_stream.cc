#include "src/rpc/upload_stream.h"

#include <utility>

#include "src/rpc/grpc_status.h"

namespace lanista {

UploadStream* UploadStream::Start(grpc::CallbackServerContext* context, Experiments* experiments, WorkQueue* queue,
                                  std::shared_ptr<void> slot, std::chrono::milliseconds idle_limit) {
  const std::shared_ptr<UploadStream> stream(
      new UploadStream(context, experiments, queue, std::move(slot), idle_limit));
  stream->self_ = stream;
  stream->Read();
  return stream.get();
}

void UploadStream::Await(Client client) {
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(std::chrono::system_clock::now() + idle_limit_, [weak = weak_from_this()](bool expired) {
    const std::shared_ptr<UploadStream> stream = weak.lock();
    if (stream != nullptr && expired) stream->OnIdle();
  });
  const std::lock_guard<std::mutex> lock(mutex_);
  client_ = client;
}

void UploadStream::Read() {
  Await(Client::kSends);
  StartRead(&request_);
}

void UploadStream::OnReadDone(bool ok) {
  alarm_->Cancel();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    client_ = Client::kWaits;
    if (ended_) return;
  }
  if (!ok) return End(absl::CancelledError("the upload ended before it was complete"));
  // As many as there may be uploads.
  queue_.Post([self = self_] { self->Handle(); });
}

void UploadStream::Handle() {
  absl::StatusOr<std::deque<v1::UploadReply>> replies = session_.Handle(std::exchange(request_, v1::UploadRequest()));
  if (!replies.ok()) return End(replies.status());
  replies_ = *std::move(replies);
  GoOn();
}

void UploadStream::GoOn() {
  if (!replies_.empty()) {
    Await(Client::kReads);
    return StartWrite(&replies_.front());
  }
  if (session_.done()) return End(absl::OkStatus());
  Read();
}

void UploadStream::OnWriteDone(bool ok) {
  alarm_->Cancel();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    client_ = Client::kWaits;
  }
  if (!ok) return End(absl::CancelledError("the client has gone"));
  replies_.pop_front();
  GoOn();
}

void UploadStream::OnIdle() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // It does not read: the write fails, and so it ends.
    if (client_ == Client::kReads) return context_.TryCancel();
    // A message came in this moment.
    if (client_ == Client::kWaits || std::exchange(ended_, true)) return;
  }
  Finish(ToGrpcStatus(absl::DeadlineExceededError("the client has sent nothing for too long: upload it again")));
}

void UploadStream::End(const absl::Status& status) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  Finish(ToGrpcStatus(status));
}

void UploadStream::OnDone() {
  // Its files go on a thread that may block, where nobody else holds it.
  queue_.Post([self = std::move(self_)] {});
}

}  // namespace lanista
