#include "src/rpc/output_receiver.h"

#include <chrono>
#include <utility>

#include "src/base/status.h"
#include "src/rpc/grpc_status.h"

namespace lanista {
OutputReceiver* OutputReceiver::Start(grpc::CallbackServerContext* context, WorkQueue* queue, NodeGateway* nodes,
                                      const NodeLimits& limits, std::shared_ptr<void> held) {
  const std::shared_ptr<OutputReceiver> receiver(new OutputReceiver(context, queue, nodes, limits, std::move(held)));
  receiver->self_ = receiver;
  receiver->ReadOn();
  return receiver.get();
}

void OutputReceiver::ReadOn() {
  int64_t read = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    read = awaited_ = ++reads_;
  }
  idle_ = std::make_unique<grpc::Alarm>();
  idle_->Set(std::chrono::system_clock::now() + limits_.idle, [weak = weak_from_this(), read](bool expired) {
    const std::shared_ptr<OutputReceiver> receiver = weak.lock();
    if (receiver == nullptr || !expired) return;
    const std::lock_guard<std::mutex> lock(receiver->mutex_);
    // What is being read ends with this. The call lives as long as a read is awaited.
    if (receiver->awaited_ == read) receiver->context_.TryCancel();
  });
  StartRead(&part_);
}

void OutputReceiver::OnReadDone(bool ok) {
  {
    // At once: a thread of the queue may be long in coming where the disk is slow.
    const std::lock_guard<std::mutex> lock(mutex_);
    awaited_ = 0;
  }
  queue_.Post([self = self_, ok] {
    if (self->context_.IsCancelled()) return self->End(absl::CancelledError("the node has gone"));
    return ok ? self->OnPart() : self->OnEnd();
  });
}

void OutputReceiver::OnPart() {
  if (part_.has_header() && !output_.has_value()) {
    request_.set_instance(part_.header().instance());
    request_.set_assignment(part_.header().assignment());
    return Ask([this](const Outputs& outputs) {
      if (!outputs.ok()) return End(outputs.status());
      absl::StatusOr<ReceivedOutput> output = ReceivedOutput::Begin(*outputs, part_.header(), limits_.disk_room.get());
      if (!output.ok()) return End(output.status());
      output_ = *std::move(output);
      ReadOn();
    });
  }
  if (!part_.has_bytes() || !output_.has_value()) {
    return End(absl::InvalidArgumentError("the node sent a part of a delivery that it did not begin"));
  }
  const absl::Status written = output_->Write(part_.bytes());
  if (!written.ok()) return End(written);
  ReadOn();
}

void OutputReceiver::OnEnd() {
  if (!output_.has_value()) return End(absl::InvalidArgumentError("the node delivered nothing"));
  // It may have ended meanwhile.
  Ask([this](const Outputs& outputs) { End(outputs.ok() ? output_->Commit(*outputs) : outputs.status()); });
}

void OutputReceiver::Ask(std::function<void(const Outputs&)> then) {
  nodes_.Outputs(request_, [self = self_, then = std::move(then)](const Outputs& outputs) {
    self->queue_.Post([self, then, outputs] { then(outputs); });
  });
}

void OutputReceiver::End(const absl::Status& status) {
  // What did not get to its place goes before the node hears so: it may come again at once.
  output_.reset();
  Finish(ToGrpcStatus(status));
}

void OutputReceiver::OnDone() {
  // Perhaps the last one to hold this.
  const std::shared_ptr<OutputReceiver> self = std::move(self_);
}

}  // namespace lanista
