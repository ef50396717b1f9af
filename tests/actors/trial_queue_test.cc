#include "actors/trial_queue.h"

#include <chrono>
#include <optional>

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

TEST(TrialQueueTest, WhatComesBackGoesBeforeItsEquals) {
  TrialQueue queue;
  for (int trial = 1; trial <= 3; ++trial) queue.Push({MakeTrial("a", trial), {}});
  std::optional<QueuedTrial> first = queue.Pop();
  queue.Finished("a");
  queue.Return(*std::move(first));
  EXPECT_EQ(Order(queue), "a1 a2 a3 ");
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

v1::TrialSpec MakeLarge(const std::string& experiment, int trial) {
  v1::TrialSpec spec = MakeTrial(experiment, trial);
  spec.set_estimated_memory(1000);
  return spec;
}

TEST(TrialQueueTest, WhatDoesNotSuitKeepsItsPlaceAndHoldsNobodyUp) {
  TrialQueue queue;
  queue.Push({MakeLarge("a", 1), {}});
  queue.Push({MakeTrial("a", 2), {}});
  queue.Push({MakeLarge("a", 3), {}});
  const auto small = [](const v1::TrialSpec& spec) { return spec.estimated_memory() == 0; };
  EXPECT_EQ(queue.Pop(small)->spec.trial(), 2);
  EXPECT_FALSE(queue.Pop(small).has_value());
  queue.Push({MakeTrial("a", 4), {}});
  EXPECT_EQ(Order(queue), "a1 a3 a4 ");
}

TEST(TrialQueueTest, TheFirstOfEachLineIsAllThatIsLookedAt) {
  TrialQueue queue;
  for (int trial = 1; trial <= 1000; ++trial) queue.Push({MakeTrial("a", trial), {}});
  for (int trial = 1; trial <= 1000; ++trial) queue.Push({MakeLarge("b", trial), {}});
  int looked_at = 0;
  const auto none = [&looked_at](const v1::TrialSpec&) {
    ++looked_at;
    return false;
  };
  EXPECT_FALSE(queue.Pop(none).has_value());
  EXPECT_EQ(looked_at, 2);
  EXPECT_EQ(queue.Experiments(), (std::vector<std::string>{"a", "b"}));
  ASSERT_EQ(queue.FirstOfLines("b").size(), 1u);
  EXPECT_EQ(queue.FirstOfLines("b")[0]->trial(), 1);
}

TEST(TrialQueueTest, ALargeTrialDoesNotStarveBehindOnesThatRunLess) {
  TrialQueue queue;
  // `a` runs a lot on small devices, `b` little, on the large one, again and again.
  for (int trial = 1; trial <= 10; ++trial) queue.Push({MakeTrial("a", trial), {}});
  while (queue.Pop().has_value()) {
  }
  queue.Push({MakeLarge("a", 11), {}});
  std::string next;
  int overtaken = 0;
  for (int trial = 1; next != "a"; ++trial) {
    queue.Push({MakeTrial("b", trial), {}});
    next = queue.Pop()->spec.experiment();
    overtaken += next == "b";
    queue.Finished("b");
    ASSERT_LE(overtaken, 100);
  }
  EXPECT_EQ(overtaken, 32);
}

TEST(TrialQueueTest, AModelIsTakenOutOfItsTrialAndTheLastOneTakesTheTrial) {
  TrialQueue queue;
  v1::TrialSpec merged = MakeTrial("a", 1);
  *merged.add_models() = MakeModel(2);
  queue.Push({merged, {}});
  EXPECT_FALSE(queue.RemoveModel("a", 2, 1).has_value());
  EXPECT_FALSE(queue.RemoveModel("b", 1, 1).has_value());
  EXPECT_EQ(queue.RemoveModel("a", 1, 1)->spec.models(0).model(), 1);
  EXPECT_FALSE(queue.RemoveModel("a", 1, 1).has_value());
  EXPECT_FALSE(queue.empty());
  EXPECT_EQ(queue.RemoveModel("a", 1, 2)->spec.models(0).model(), 2);
  EXPECT_TRUE(queue.empty());
}

TEST(TrialQueueTest, ItKnowsWhichHasWaitedLongestHoweverTrialsLeave) {
  const auto at = [](int seconds) { return std::chrono::steady_clock::time_point(std::chrono::seconds(seconds)); };
  TrialQueue queue;
  EXPECT_EQ(queue.OldestSince(), std::nullopt);
  v1::TrialSpec retry = MakeTrial("a", 4);
  retry.set_retry(true);
  queue.Push({MakeTrial("a", 1), {}, at(1)});
  queue.Push({MakeTrial("b", 2), {}, at(2)});
  queue.Push({MakeTrial("c", 3), {}, at(3)});
  queue.Push({retry, {}, at(4)});
  EXPECT_EQ(queue.size(), 4u);
  EXPECT_EQ(queue.Pop()->spec.trial(), 4);
  EXPECT_EQ(queue.OldestSince(), at(1));
  EXPECT_TRUE(queue.RemoveModel("a", 1, 1).has_value());
  EXPECT_EQ(queue.OldestSince(), at(2));
  queue.Remove("b");
  EXPECT_EQ(queue.OldestSince(), at(3));
  queue.Pop();
  EXPECT_EQ(queue.OldestSince(), std::nullopt);
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace lanista
