#include "src/service/news.h"

#include <chrono>
#include <utility>
#include <vector>

namespace lanista {
namespace {

constexpr std::chrono::seconds kPollInterval(1);
// Those who are told are woken now and then, too: an experiment whose actors died tells nobody.
constexpr int kPollsPerSafetyWake = 30;

}  // namespace

News::News() : poller_(&News::Poll, this) {}

News::~News() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    ended_ = true;
  }
  changed_.notify_all();
  poller_.join();
}

std::shared_ptr<News::Waiter> News::Wait(const std::string& experiment, std::function<void()> wake) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<Waiter> made(new Waiter);
  made->experiment = experiment;
  made->wake = std::move(wake);
  const std::shared_ptr<Waiter> waiter(made.release(), [this](Waiter* ended) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiters_.erase({ended->experiment, ended});
    }
    delete ended;
  });
  waiters_.emplace(Key(experiment, waiter.get()), waiter);
  changed_.notify_all();
  return waiter;
}

bool News::WaitUntil(const std::string& experiment, absl::Duration limit, const std::function<bool()>& done) {
  // The last wake-up may come when this call has returned.
  struct WakeUps {
    std::mutex mutex;
    std::condition_variable came;
    bool any = false;
  };
  const auto wake_ups = std::make_shared<WakeUps>();
  const std::shared_ptr<Waiter> waiter = Wait(experiment, [wake_ups] {
    {
      const std::lock_guard<std::mutex> lock(wake_ups->mutex);
      wake_ups->any = true;
    }
    wake_ups->came.notify_one();
  });
  waiter->polls = true;
  const auto deadline = std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(limit);
  while (!done()) {
    std::unique_lock<std::mutex> lock(wake_ups->mutex);
    if (!wake_ups->came.wait_until(lock, deadline, [&wake_ups] { return wake_ups->any; })) return false;
    wake_ups->any = false;
  }
  return true;
}

void News::Publish(const std::string& experiment) { WakeThose(&experiment, /*only_polling=*/false); }

void News::PublishAll() { WakeThose(nullptr, /*only_polling=*/false); }

void News::WakeThose(const std::string* experiment, bool only_polling) {
  std::vector<std::shared_ptr<Waiter>> woken;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    auto entry = experiment == nullptr ? waiters_.begin() : waiters_.lower_bound({*experiment, nullptr});
    for (; entry != waiters_.end() && (experiment == nullptr || entry->first.first == *experiment); ++entry) {
      if (std::shared_ptr<Waiter> waiter = entry->second.lock()) woken.push_back(std::move(waiter));
    }
  }
  for (const std::shared_ptr<Waiter>& waiter : woken) {
    if (!only_polling || waiter->polls) waiter->wake();
  }
}

void News::Poll() {
  for (int polls = 1;; ++polls) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return ended_ || !waiters_.empty(); });
      if (changed_.wait_for(lock, kPollInterval, [this] { return ended_; })) return;
    }
    WakeThose(nullptr, /*only_polling=*/polls % kPollsPerSafetyWake != 0);
  }
}

}  // namespace lanista
