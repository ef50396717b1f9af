// Wakes those who wait for news of an experiment.
#ifndef LANISTA_SRC_SERVICE_NEWS_H_
#define LANISTA_SRC_SERVICE_NEWS_H_

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "absl/time/time.h"

namespace lanista {

// A board without memory: what is to be known is in the journals, and a wake-up says only that it is worth a look. An
// experiment that nobody waits for costs nothing here. Thread-safe.
class News {
 public:
  // One who waits. Its wake-up may still come in the moment in which it is destroyed.
  struct Waiter {
    std::string experiment;
    std::function<void()> wake;
    // Nobody publishes: woken every second.
    std::atomic<bool> polls{false};
  };

  News();
  ~News();

  // `wake` is called, on any thread, until the result is destroyed. Must not block.
  std::shared_ptr<Waiter> Wait(const std::string& experiment, std::function<void()> wake);

  // Calls `done` at once and with each wake-up, on this thread, until it returns true; false if it has not after
  // `limit`. Looks every second, too, because those who would publish may be gone.
  bool WaitUntil(const std::string& experiment, absl::Duration limit, const std::function<bool()>& done);

  // Something was recorded.
  void Publish(const std::string& experiment);
  // All who wait are to look, whatever they wait for.
  void PublishAll();

 private:
  // In the order of the experiments.
  using Key = std::pair<std::string, Waiter*>;

  void Poll();
  void WakeThose(const std::string* experiment, bool only_polling);

  std::mutex mutex_;
  std::condition_variable changed_;
  // Protected by mutex_.
  std::map<Key, std::weak_ptr<Waiter>> waiters_;
  bool ended_ = false;

  std::thread poller_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_NEWS_H_
