#include "actors/trial_queue.h"

#include "absl/strings/str_cat.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// The trials in the order in which the queue gives them out, all of them running at the end.
std::string Order(TrialQueue& queue) {
  std::string order;
  while (const auto trial = queue.Pop()) absl::StrAppend(&order, trial->spec.experiment(), trial->spec.trial(), " ");
  return order;
}

TEST(TrialQueueTest, FirstComeFirstServedWithinAnExperiment) {
  TrialQueue queue;
  for (int trial = 1; trial <= 3; ++trial) queue.Push({MakeTrial("a", trial), {}});
  EXPECT_EQ(Order(queue), "a1 a2 a3 ");
  EXPECT_TRUE(queue.empty());
}

TEST(TrialQueueTest, ExperimentsShareFairly) {
  TrialQueue queue;
  for (int trial = 1; trial <= 3; ++trial) queue.Push({MakeTrial("a", trial), {}});
  for (int trial = 1; trial <= 2; ++trial) queue.Push({MakeTrial("b", trial), {}});
  EXPECT_EQ(Order(queue), "a1 b1 a2 b2 a3 ");
}

TEST(TrialQueueTest, AFinishedTrialFreesItsShare) {
  TrialQueue queue;
  queue.Push({MakeTrial("a", 1), {}});
  queue.Pop();
  queue.Finished("a");
  queue.Push({MakeTrial("a", 2), {}});
  queue.Push({MakeTrial("b", 1), {}});
  EXPECT_EQ(Order(queue), "a2 b1 ");
}

TEST(TrialQueueTest, RetriesGoBeforePriorityAndPriorityBeforeShare) {
  TrialQueue queue;
  queue.Push({MakeTrial("a", 1), {}});
  v1::TrialSpec urgent = MakeTrial("b", 2);
  urgent.set_priority(5);
  queue.Push({urgent, {}});
  v1::TrialSpec retry = MakeTrial("c", 3);
  retry.set_retry(true);
  queue.Push({retry, {}});
  EXPECT_EQ(Order(queue), "c3 b2 a1 ");
}

TEST(TrialQueueTest, RemoveTakesOneExperimentsTrials) {
  TrialQueue queue;
  queue.Push({MakeTrial("a", 1), {}});
  queue.Push({MakeTrial("b", 2), {}});
  queue.Push({MakeTrial("a", 3), {}});
  EXPECT_EQ(queue.Remove("a").size(), 2u);
  EXPECT_EQ(Order(queue), "b2 ");
}

}  // namespace
}  // namespace lanista
