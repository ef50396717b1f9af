#include "src/data/prefetch_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace lanista::data {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> Drain(PrefetchQueue<T>& queue) {
  std::vector<T> items;
  while (std::optional<T> item = queue.Next()) items.push_back(*std::move(item));
  return items;
}

// A door that opens once.
class Gate {
 public:
  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

class PrefetchQueueTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, PrefetchQueueTest, ::testing::Values(0, 1, 2, 5));

TEST_P(PrefetchQueueTest, ServesAllItemsInOrder) {
  PrefetchQueue<std::unique_ptr<int64_t>> queue(GetParam());
  queue.Start(500, [](int64_t index) { return std::make_unique<int64_t>(index * index); });
  for (int64_t i = 0; i < 500; ++i) EXPECT_EQ(**queue.Next(), i * i);
  EXPECT_FALSE(queue.Next().has_value());
  EXPECT_FALSE(queue.Next().has_value());
}

TEST_P(PrefetchQueueTest, IsEmptyBeforeTheFirstStartAndForACountOfZero) {
  PrefetchQueue<int64_t> queue(GetParam());
  EXPECT_FALSE(queue.Next().has_value());
  queue.Start(0, [](int64_t index) { return index; });
  EXPECT_FALSE(queue.Next().has_value());
}

TEST_P(PrefetchQueueTest, ANewSequenceDropsTheRestOfTheOneBefore) {
  PrefetchQueue<std::string> queue(GetParam());
  for (int round = 0; round < 200; ++round) {
    queue.Start(10, [round](int64_t index) { return std::to_string(round) + "/" + std::to_string(index); });
    for (int64_t i = 0; i < round % 4; ++i) {
      EXPECT_EQ(*queue.Next(), std::to_string(round) + "/" + std::to_string(i));
    }
  }
  queue.Start(2, [](int64_t index) { return "last/" + std::to_string(index); });
  EXPECT_THAT(Drain(queue), ElementsAre("last/0", "last/1"));
}

TEST_P(PrefetchQueueTest, ThrowsInNextWhatProducingThrewAndGoesOn) {
  PrefetchQueue<int64_t> queue(GetParam());
  queue.Start(3, [](int64_t index) {
    if (index == 1) throw std::runtime_error("unreadable");
    return index;
  });
  EXPECT_EQ(*queue.Next(), 0);
  EXPECT_THROW(queue.Next(), std::runtime_error);
  EXPECT_EQ(*queue.Next(), 2);
  EXPECT_FALSE(queue.Next().has_value());
}

TEST_P(PrefetchQueueTest, CanBeDestroyedWithItemsLeft) {
  PrefetchQueue<int64_t> queue(GetParam());
  queue.Start(1000, [](int64_t index) { return index; });
  EXPECT_EQ(*queue.Next(), 0);
}

TEST_P(PrefetchQueueTest, RunsTheStartFunctionInEachThread) {
  std::atomic<int> started{0};
  {
    PrefetchQueue<int64_t> queue(GetParam(), [&started] { ++started; });
  }
  EXPECT_EQ(started, GetParam());
}

TEST(PrefetchQueue, RunsAheadButNoFurtherThanItsBound) {
  std::atomic<int64_t> produced{0};
  Gate full;
  PrefetchQueue<int64_t> queue(2);
  queue.Start(100, [&](int64_t index) {
    if (++produced == 4) full.Open();
    return index;
  });
  // Four items are made although none was asked for; a fifth would need a place in the ring.
  full.Wait();
  EXPECT_EQ(produced, 4);
  EXPECT_EQ(*queue.Next(), 0);
  EXPECT_EQ(Drain(queue).size(), 99u);
}

TEST(PrefetchQueue, KeepsTheOrderWhenALaterItemIsReadyFirst) {
  Gate second_done;
  PrefetchQueue<int64_t> queue(2);
  queue.Start(2, [&](int64_t index) {
    if (index == 0) second_done.Wait();
    if (index == 1) second_done.Open();
    return index;
  });
  EXPECT_THAT(Drain(queue), ElementsAre(0, 1));
}

TEST(PrefetchQueue, DoesNotWaitForTheOldSequenceWhenANewOneBegins) {
  Gate release;
  PrefetchQueue<int64_t> queue(2);
  queue.Start(1, [&](int64_t) {
    release.Wait();
    return int64_t{-1};
  });
  queue.Start(3, [](int64_t index) { return index; });
  EXPECT_THAT(Drain(queue), ElementsAre(0, 1, 2));
  release.Open();
}

}  // namespace
}  // namespace lanista::data
