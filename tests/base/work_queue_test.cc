#include "src/base/work_queue.h"

#include <future>
#include <memory>

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(WorkQueueTest, DoesWhatIsLeftBeforeItEnds) {
  int done = 0;
  {
    WorkQueue queue(1, 1);
    for (int job = 0; job < 100; ++job) queue.Post([&done] { ++done; });
  }
  EXPECT_EQ(done, 100);
}

TEST(WorkQueueTest, TriesToPostOnlyWhatHasRoom) {
  std::promise<void> go_on;
  std::promise<void> begun;
  WorkQueue queue(1, 1);
  queue.Post([&] {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  EXPECT_TRUE(queue.TryPost([] {}));
  EXPECT_FALSE(queue.TryPost([] {}));
  go_on.set_value();
}

// The destructor of what a job holds may remove gigabytes: nobody else waits for it. Else this never ends.
TEST(WorkQueueTest, OthersMayPostWhileWhatAJobHeldGoes) {
  std::promise<void> posted;
  WorkQueue queue(1, 1);
  queue.Post([held = std::shared_ptr<void>(nullptr, [&](void*) {
                queue.Post([] {});
                posted.set_value();
              })] {});
  posted.get_future().wait();
}

}  // namespace
}  // namespace lanista
