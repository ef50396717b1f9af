// Word to a thread that blocks: nobody needs what it does any more.
#ifndef LANISTA_SRC_FILES_CANCELLATION_H_
#define LANISTA_SRC_FILES_CANCELLATION_H_

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>

namespace lanista {

// Thread-safe.
class Cancellation {
 public:
  // Calls `wake` once it is canceled, on the thread that cancels; at once, where it is already. One at a time. Not
  // after the guard has ended.
  class Guard {
   public:
    Guard(Cancellation* cancellation, std::function<void()> wake) : cancellation_(*cancellation) {
      const std::lock_guard<std::mutex> lock(cancellation_.mutex_);
      cancellation_.wake_ = std::move(wake);
      if (cancellation_.canceled_) cancellation_.wake_();
    }
    ~Guard() {
      const std::lock_guard<std::mutex> lock(cancellation_.mutex_);
      cancellation_.wake_ = nullptr;
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Cancellation& cancellation_;
  };

  void Cancel() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::exchange(canceled_, true)) return;
    if (wake_ != nullptr) wake_();
    changed_.notify_all();
  }

  bool canceled() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return canceled_;
  }

  // Waits for so long, or until it is canceled.
  void WaitFor(std::chrono::milliseconds time) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait_for(lock, time, [this] { return canceled_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  bool canceled_ = false;
  std::function<void()> wake_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_CANCELLATION_H_
