// Requests on their way to the thread that executes them.
#ifndef LANISTA_SRC_TRIAL_PROCESS_REQUEST_QUEUE_H_
#define LANISTA_SRC_TRIAL_PROCESS_REQUEST_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "protos/trial.pb.h"
#include "src/trial_process/request_handler.h"

namespace lanista {

// Thread-safe.
class RequestQueue {
 public:
  void Push(v1::TrialRequest request) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      requests_.push_back(std::move(request));
    }
    changed_.notify_one();
  }

  // Waits for the next request.
  v1::TrialRequest Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !requests_.empty(); });
    v1::TrialRequest request = std::move(requests_.front());
    requests_.pop_front();
    return request;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<v1::TrialRequest> requests_;
};

// Executes the queue's requests until Shutdown.
inline void HandleUntilShutdown(RequestHandler& handler, RequestQueue& queue) {
  while (true) {
    const v1::TrialRequest request = queue.Pop();
    if (request.has_shutdown()) return;
    handler.Handle(request);
  }
}

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_PROCESS_REQUEST_QUEUE_H_
