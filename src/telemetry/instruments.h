// What measurements are kept in: counters, gauges, histograms. To report one costs an addition or two to atomic
// numbers, and waits for nobody (prometheus-cpp's own histogram locks a mutex), so that actors may do it with every
// message.
//
// All of them are thread-safe. Who reads several reads each at its own moment.
#ifndef LANISTA_SRC_TELEMETRY_INSTRUMENTS_H_
#define LANISTA_SRC_TELEMETRY_INSTRUMENTS_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace lanista {

// Something that has happened so often since the process began.
class Counter {
 public:
  void Add(uint64_t more = 1) { value_.fetch_add(more, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// How many there are now.
class Gauge {
 public:
  void Set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void Add(int64_t more) { value_.fetch_add(more, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// The moment at which something began, or that there is nothing.
class Since {
 public:
  using Clock = std::chrono::steady_clock;

  void Set(const std::optional<Clock::time_point>& since) {
    since_.store(since.has_value() ? since->time_since_epoch().count() : kNothing, std::memory_order_relaxed);
  }
  // Zero where there is nothing.
  std::chrono::nanoseconds Age(Clock::time_point now) const {
    const Clock::rep since = since_.load(std::memory_order_relaxed);
    if (since == kNothing) return std::chrono::nanoseconds(0);
    return std::max(now - Clock::time_point(Clock::duration(since)), Clock::duration(0));
  }

 private:
  static constexpr Clock::rep kNothing = -1;

  std::atomic<Clock::rep> since_{kNothing};
};

// How long something took, each time.
class Histogram {
 public:
  // Upper bounds of the buckets, in seconds: from a fast disk's transaction to a disk that hangs. One more bucket has
  // what took longer.
  static constexpr std::array<double, 18> kBounds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                     0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30,    60};
  static constexpr size_t kBuckets = kBounds.size() + 1;

  void Observe(std::chrono::nanoseconds took) {
    const std::chrono::nanoseconds time = std::max(took, std::chrono::nanoseconds(0));
    const double seconds = std::chrono::duration<double>(time).count();
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds) - kBounds.begin();
    counts_[static_cast<size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<uint64_t>(time.count()), std::memory_order_relaxed);
  }

  // How many took longer than the bound before, and no longer than this bucket's.
  uint64_t count(size_t bucket) const { return counts_[bucket].load(std::memory_order_relaxed); }
  // In seconds, of all together.
  double sum() const { return static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9; }

 private:
  std::array<std::atomic<uint64_t>, kBuckets> counts_ = {};
  std::atomic<uint64_t> nanoseconds_{0};
};

// An instrument for each value of an enumeration, 0 (UNSPECIFIED) to kLast: so the number of values that a label may
// have is known when the program is compiled. What a later version may call otherwise counts as UNSPECIFIED.
template <typename Instrument, typename Enum, Enum kLast>
class ByEnum {
 public:
  static constexpr int kValues = static_cast<int>(kLast) + 1;

  Instrument& operator[](Enum value) { return instruments_[Index(value)]; }
  const Instrument& operator[](Enum value) const { return instruments_[Index(value)]; }

 private:
  static size_t Index(Enum value) {
    const int number = static_cast<int>(value);
    return number >= 0 && number < kValues ? static_cast<size_t>(number) : 0;
  }

  std::array<Instrument, static_cast<size_t>(kValues)> instruments_;
};

// One thing that a gauge counts, as long as this object lives. For one thread.
class CountedIn {
 public:
  CountedIn() = default;
  CountedIn(const CountedIn&) = delete;
  CountedIn& operator=(const CountedIn&) = delete;
  ~CountedIn() { Move(nullptr); }

  // Counts it in another gauge from now on; null: in none. (A gauge that is part of something shared: the aliasing
  // constructor of shared_ptr.)
  void Move(std::shared_ptr<Gauge> gauge) {
    if (gauge == gauge_) return;
    if (gauge_ != nullptr) gauge_->Add(-1);
    gauge_ = std::move(gauge);
    if (gauge_ != nullptr) gauge_->Add(1);
  }

 private:
  std::shared_ptr<Gauge> gauge_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_TELEMETRY_INSTRUMENTS_H_
