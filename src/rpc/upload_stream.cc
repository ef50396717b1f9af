#include "src/rpc/upload_stream.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/rpc/grpc_status.h"

namespace lanista {
namespace {

// Of UploadWanted: well below the 4 MiB of a message.
constexpr int kWantedOfMessage = 100000;

}  // namespace

UploadStream* UploadStream::Start(Experiments* experiments, WorkQueue* queue, std::shared_ptr<void> slot,
                                  std::chrono::milliseconds idle_limit) {
  const std::shared_ptr<UploadStream> stream(new UploadStream(experiments, queue, std::move(slot), idle_limit));
  stream->self_ = stream;
  stream->Read();
  return stream.get();
}

void UploadStream::Read() {
  alarm_ = std::make_unique<grpc::Alarm>();
  alarm_->Set(std::chrono::system_clock::now() + idle_limit_, [weak = weak_from_this()](bool expired) {
    const std::shared_ptr<UploadStream> stream = weak.lock();
    if (stream != nullptr && expired) stream->OnIdle();
  });
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    reading_ = true;
  }
  StartRead(&request_);
}

void UploadStream::OnReadDone(bool ok) {
  alarm_->Cancel();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    reading_ = false;
    if (ended_) return;
  }
  if (!ok) return End(absl::CancelledError("the upload ended before it was complete"));
  // As many as there may be uploads.
  queue_.Post([self = self_] {
    const absl::Status status = self->Handle();
    if (!status.ok()) return self->End(status);
    self->GoOn();
  });
}

absl::Status UploadStream::Handle() {
  if (request_.has_list()) return HandleList(std::move(*request_.mutable_list()));
  if (upload_ == nullptr) return absl::InvalidArgumentError("the list of the files comes first");
  LANISTA_RETURN_IF_ERROR(upload_->Write(request_.content()));
  return AnswerIfComplete();
}

absl::Status UploadStream::HandleList(v1::UploadList part) {
  if (upload_ != nullptr) return absl::InvalidArgumentError("list: it was complete");
  list_bytes_ += static_cast<int64_t>(part.ByteSizeLong());
  list_.MergeFrom(part);
  if (list_.files_size() > kMaxUploadedFiles || list_.folders_size() > kMaxUploadedFiles ||
      list_bytes_ > kMaxUploadListBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("an upload has at most ", kMaxUploadedFiles,
                     " files and folders: name them as data of the machines that have "
                     "them, data://NAME/sub, with `--data NAME=DIR` of `node` or `serve`"));
  }
  if (!part.complete()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(upload_, experiments_.BeginUpload(std::move(list_)));
  Answer();
  return AnswerIfComplete();
}

void UploadStream::Answer() {
  replies_.emplace_back().mutable_wanted();
  for (const int file : upload_->wanted()) {
    if (replies_.back().wanted().files_size() == kWantedOfMessage) replies_.emplace_back();
    replies_.back().mutable_wanted()->add_files(file);
  }
  replies_.back().mutable_wanted()->set_complete(true);
}

absl::Status UploadStream::AnswerIfComplete() {
  if (!upload_->complete()) return absl::OkStatus();
  LANISTA_ASSIGN_OR_RETURN(*replies_.emplace_back().mutable_folder(), upload_->Finish());
  done_ = true;
  return absl::OkStatus();
}

void UploadStream::GoOn() {
  if (!replies_.empty()) return StartWrite(&replies_.front());
  if (done_) return End(absl::OkStatus());
  Read();
}

void UploadStream::OnWriteDone(bool ok) {
  if (!ok) return End(absl::CancelledError("the client has gone"));
  replies_.pop_front();
  GoOn();
}

void UploadStream::OnIdle() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    // A message came in this moment.
    if (!reading_ || std::exchange(ended_, true)) return;
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
