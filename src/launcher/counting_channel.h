// A trial process whose constructions of the space are counted.
#ifndef LANISTA_SRC_LAUNCHER_COUNTING_CHANNEL_H_
#define LANISTA_SRC_LAUNCHER_COUNTING_CHANNEL_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "protos/messages.pb.h"
#include "src/trial_process/channel.h"

namespace lanista {

// A channel that counts how often the trial process announces that it constructs a model. Owns the channel that it
// hands everything to, and follows that one's thread contract. `constructions` must outlive it.
class CountingChannel : public TrialChannel {
 public:
  CountingChannel(std::unique_ptr<TrialChannel> channel, std::atomic<int>* constructions)
      : channel_(std::move(channel)), constructions_(*constructions) {}

  absl::Status Start(const v1::Device& device, Handlers handlers) override {
    handlers.on_event = [this, on_event = std::move(handlers.on_event)](v1::TrialEvent event) {
      if (event.has_discovering()) ++constructions_;
      on_event(std::move(event));
    };
    return channel_->Start(device, std::move(handlers));
  }
  absl::Status Send(const v1::TrialRequest& request) override { return channel_->Send(request); }
  void Recorded(const v1::EventsRecorded& recorded) override { channel_->Recorded(recorded); }
  std::chrono::milliseconds held_up() const override { return channel_->held_up(); }
  void Kill() override { channel_->Kill(); }

 private:
  const std::unique_ptr<TrialChannel> channel_;
  std::atomic<int>& constructions_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_LAUNCHER_COUNTING_CHANNEL_H_
