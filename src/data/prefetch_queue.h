// A sequence that threads compute ahead of its reader, served in order.
//
// The core of Loader, without tensors, so that ThreadSanitizer can check it. Workers claim the next index, compute its
// item outside the lock and put it into a ring; the reader takes items in order. A thread that cannot continue sleeps
// on a condition variable: workers while the ring is full or all items are claimed, the reader while the next item is
// not ready.
#ifndef LANISTA_SRC_DATA_PREFETCH_QUEUE_H_
#define LANISTA_SRC_DATA_PREFETCH_QUEUE_H_

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace lanista::data {

// Start() and Next() must be called by one thread, the reader.
template <typename T>
class PrefetchQueue {
 public:
  // Computes item `index`; several workers call it at the same time. Next() rethrows its exceptions.
  using Produce = std::function<T(int64_t index)>;

  // `threads` workers, each of which first runs `on_thread_start`. At most `threads` + 2 items are computed ahead. With
  // 0 threads, Next() computes each item itself.
  explicit PrefetchQueue(
      int threads, const std::function<void()>& on_thread_start = [] {})
      : ring_(threads > 0 ? threads + 2 : 0) {
    workers_.reserve(threads);
    for (int i = 0; i < threads; ++i) {
      workers_.emplace_back([this, on_thread_start] {
        on_thread_start();
        Work();
      });
    }
  }

  // Waits until the workers have finished the items that they are computing.
  ~PrefetchQueue() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  PrefetchQueue(const PrefetchQueue&) = delete;
  PrefetchQueue& operator=(const PrefetchQueue&) = delete;

  // Starts the sequence produce(0), ..., produce(count - 1). The rest of the previous sequence is dropped, without
  // waiting for items that are being computed.
  void Start(int64_t count, Produce produce) {
    std::vector<Slot> dropped(ring_.size());
    {
      std::lock_guard<std::mutex> lock(mutex_);
      ++sequence_;
      produce_ = std::make_shared<const Produce>(std::move(produce));
      count_ = count;
      claimed_ = 0;
      served_ = 0;
      ring_.swap(dropped);
    }
    work_.notify_all();
  }

  // The next item, or nullopt at the sequence's end (and before the first Start).
  std::optional<T> Next() {
    if (served_ == count_) return std::nullopt;
    if (workers_.empty()) return (*produce_)(served_++);
    Slot slot;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      Slot& next = ring_[served_ % ring_.size()];
      ready_.wait(lock, [&next] { return next.item.has_value() || next.error != nullptr; });
      slot = std::exchange(next, Slot{});
      ++served_;
    }
    work_.notify_one();
    if (slot.error != nullptr) std::rethrow_exception(slot.error);
    return std::move(slot.item);
  }

 private:
  // Empty until its item, or the exception thrown instead, is there.
  struct Slot {
    std::optional<T> item;
    std::exception_ptr error;
  };

  void Work() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      work_.wait(lock, [this] {
        return stopping_ || (claimed_ < count_ && claimed_ < served_ + static_cast<int64_t>(ring_.size()));
      });
      if (stopping_) return;
      const int64_t index = claimed_++;
      const int64_t sequence = sequence_;
      std::shared_ptr<const Produce> produce = produce_;
      lock.unlock();
      Slot slot;
      try {
        slot.item.emplace((*produce)(index));
      } catch (...) {
        slot.error = std::current_exception();
      }
      produce.reset();
      lock.lock();
      if (sequence != sequence_) {
        // The reader has started another sequence. Free the item outside the lock: it may be large.
        lock.unlock();
        slot = Slot{};
        lock.lock();
        continue;
      }
      ring_[index % ring_.size()] = std::move(slot);
      if (index == served_) ready_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ready_;

  // Written by the reader only, under mutex_; so the reader may read them without it.
  std::shared_ptr<const Produce> produce_;
  int64_t count_ = 0;
  int64_t served_ = 0;

  // Protected by mutex_.
  int64_t sequence_ = 0;
  int64_t claimed_ = 0;
  std::vector<Slot> ring_;
  bool stopping_ = false;

  // Constant after construction.
  std::vector<std::thread> workers_;
};

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_PREFETCH_QUEUE_H_
