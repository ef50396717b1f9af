#include "src/trial_process/in_process.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "src/base/utf8.h"
#include "src/trial_process/event_window.h"
#include "src/trial_process/request_queue.h"

namespace lanista {
namespace {

class InProcessChannel final : public TrialChannel {
 public:
  explicit InProcessChannel(MakeRequestHandler make_handler) : make_handler_(std::move(make_handler)) {}
  ~InProcessChannel() override {
    Kill();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start(const v1::Device& device, Handlers handlers) override {
    handlers_ = std::move(handlers);
    const auto emit = [this](v1::TrialEvent event) {
      MakeUtf8(&event);
      std::unique_lock<std::mutex> lock(mutex_);
      window_changed_.wait(lock, [this] { return killed_ || !window_.full(); });
      if (event.has_model()) window_.Read(event.model(), EventWindow::Clock::now());
      lock.unlock();
      handlers_.on_event(std::move(event));
    };
    handler_ = make_handler_(emit);
    v1::TrialRequest setup;
    *setup.mutable_setup()->mutable_device() = device;
    queue_.Push(setup);
    thread_ = std::thread([this] {
      HandleUntilShutdown(*handler_, queue_);
      handlers_.on_exit({});
    });
    return absl::OkStatus();
  }

  absl::Status Send(const v1::TrialRequest& request) override {
    if (request.has_run()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      last_trial_.set_experiment(request.run().experiment());
      last_trial_.set_trial(request.run().trial());
      window_.Begin(request.run());
    }
    if (request.has_cancel()) {
      handler_->Cancel(request.cancel());
    } else if (request.has_stop()) {
      handler_->Stop(request.stop());
    } else {
      queue_.Push(request);
    }
    return absl::OkStatus();
  }

  void Recorded(const v1::EventsRecorded& recorded) override {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      window_.Recorded(recorded, EventWindow::Clock::now());
    }
    window_changed_.notify_one();
  }

  std::chrono::milliseconds held_up() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::chrono::duration_cast<std::chrono::milliseconds>(window_.FullFor(EventWindow::Clock::now()));
  }

  void Kill() override {
    if (handler_ == nullptr) return;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      handler_->Cancel(last_trial_);
      killed_ = true;
    }
    window_changed_.notify_one();
    v1::TrialRequest shutdown;
    shutdown.mutable_shutdown();
    queue_.Push(shutdown);
  }

 private:
  const MakeRequestHandler make_handler_;
  Handlers handlers_;
  std::unique_ptr<RequestHandler> handler_;
  RequestQueue queue_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable window_changed_;
  // Protected by mutex_.
  v1::CancelTrial last_trial_;
  EventWindow window_;
  bool killed_ = false;
};

}  // namespace

std::unique_ptr<TrialChannel> MakeInProcessChannel(MakeRequestHandler make_handler) {
  return std::make_unique<InProcessChannel>(std::move(make_handler));
}

}  // namespace lanista
