#include "actors/cgo_batcher.h"

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// The batcher between a fake experiment and a fake engine.
class CgoBatcherTest : public ActorTest {
 protected:
  CgoBatcherTest() {
    engine_ = Spawn([this](EngineActor::pointer) -> EngineActor::behavior_type {
      return {[this](const v1::RunModels& run) {
                batches_.push_back(run.models_size());
                last_ = run.last();
              },
              [this](const v1::RunAgain&) { ++again_; },
              [this](const v1::StopModel& stop) { stopped_.push_back(stop.model()); },
              [this](const v1::EventsRecorded& recorded) { recorded_.push_back(recorded.sequence()); },
              [this](const v1::CancelExperiment&) { ++cancels_; },
              [](const v1::ModelEvent&) {},
              [](const v1::DeviceShare&) {}};
    });
    batcher_ = Spawn(CgoBatcher, ModelWindow{4, absl::Seconds(10)}, engine_);
  }

  // `count` models come; `in_flight` are without an outcome.
  void Come(int count, int in_flight, bool full = false, bool last = false) {
    v1::RunModels run;
    for (int i = 0; i < count; ++i) *run.add_models() = MakeModel(++models_);
    run.set_in_flight(in_flight);
    run.set_full(full);
    run.set_last(last);
    caf::anon_send(batcher_, run);
    Run();
  }

  int models_ = 0;
  std::vector<int> batches_;
  // Of the last batch.
  bool last_ = false;
  int again_ = 0;
  int cancels_ = 0;
  std::vector<int> stopped_;
  std::vector<int> recorded_;
  EngineActor engine_;
  CgoBatcherSelf batcher_;
};

TEST_F(CgoBatcherTest, ABatchGoesWhenEnoughModelsWait) {
  Come(3, 3);
  EXPECT_TRUE(batches_.empty());
  Come(2, 5);
  EXPECT_EQ(batches_, std::vector<int>{5}) << "all that wait";
}

TEST_F(CgoBatcherTest, ABatchGoesWhenTheOldestHasWaitedLongEnough) {
  Come(1, 9);
  Come(1, 9);
  RunDelayed();
  EXPECT_EQ(batches_, std::vector<int>{2});
}

TEST_F(CgoBatcherTest, ATimerOfAWindowThatIsClosedDoesNotCloseTheNext) {
  Come(1, 9);
  Come(3, 9);
  ASSERT_EQ(batches_, std::vector<int>{4});
  scheduler().advance_time(std::chrono::seconds(4));
  Come(1, 9);
  scheduler().advance_time(std::chrono::seconds(6));
  Run();
  EXPECT_EQ(batches_.size(), 1u) << "the first window's timer";
  scheduler().advance_time(std::chrono::seconds(4));
  Run();
  EXPECT_EQ(batches_, (std::vector<int>{4, 1}));
}

TEST_F(CgoBatcherTest, TimersDoNotPileUp) {
  for (int window = 0; window < 100; ++window) Come(4, 9);
  for (int window = 0; window < 100; ++window) {
    Come(1, 9);
    Come(3, 9);
  }
  EXPECT_EQ(batches_.size(), 200u);
  EXPECT_TRUE(scheduler().trigger_timeout());
  Run();
  EXPECT_FALSE(scheduler().trigger_timeout());
}

TEST_F(CgoBatcherTest, AWindowOfCenturiesStaysOpen) {
  const CgoBatcherSelf batcher = Spawn(CgoBatcher, ModelWindow{4, absl::InfiniteDuration()}, engine_);
  v1::RunModels run;
  *run.add_models() = MakeModel(1);
  run.set_in_flight(9);
  caf::anon_send(batcher, run);
  Run();
  scheduler().advance_time(std::chrono::hours(1));
  Run();
  EXPECT_TRUE(batches_.empty());
}

TEST_F(CgoBatcherTest, NothingWaitsForWhatCannotCome) {
  Come(2, 2, /*full=*/true);
  EXPECT_EQ(batches_, std::vector<int>{2}) << "all that may be in flight wait";
  Come(1, 3, /*full=*/true);
  EXPECT_EQ(batches_.size(), 1u) << "the other two run: they make room when they end";
  Come(0, 1, /*full=*/true);
  EXPECT_EQ(batches_, (std::vector<int>{2, 1})) << "they ended, and the strategy has no proposal";
  EXPECT_FALSE(last_);
  Come(1, 3, /*full=*/false, /*last=*/true);
  EXPECT_EQ(batches_, (std::vector<int>{2, 1, 1}));
  EXPECT_TRUE(last_) << "then the engine gives up the devices that it has no trials for";
}

TEST_F(CgoBatcherTest, ThatNothingElseComesIsToldWithoutModels) {
  Come(0, 1, /*full=*/false, /*last=*/true);
  EXPECT_EQ(batches_, std::vector<int>{0});
  EXPECT_TRUE(last_);
  // The limits of a search may be raised while it runs.
  Come(4, 5);
  EXPECT_EQ(batches_, (std::vector<int>{0, 4}));
  EXPECT_FALSE(last_);
}

TEST_F(CgoBatcherTest, AStopDoesNotWaitForTheWindow) {
  Come(2, 9);
  v1::CancelExperiment cancel;
  cancel.set_experiment("e");
  caf::anon_send(batcher_, cancel);
  Run();
  EXPECT_EQ(cancels_, 1);
  RunDelayed();
  EXPECT_TRUE(batches_.empty());
}

TEST_F(CgoBatcherTest, AModelThatRunsAgainWaitsForNobody) {
  Come(1, 9);
  caf::anon_send(batcher_, v1::RunAgain());
  Run();
  EXPECT_EQ(again_, 1);
  EXPECT_TRUE(batches_.empty());
}

TEST_F(CgoBatcherTest, AStoppedModelThatWaitsIsForgottenAndOthersAreTheEngines) {
  Come(2, 9);
  v1::StopModel stop;
  stop.set_model(1);
  caf::anon_send(batcher_, stop);
  Run();
  EXPECT_TRUE(stopped_.empty());
  RunDelayed();
  EXPECT_EQ(batches_, std::vector<int>{1});
  stop.set_model(2);
  caf::anon_send(batcher_, stop);
  Run();
  EXPECT_EQ(stopped_, std::vector<int>{2});
  Come(1, 9);
  stop.set_model(3);
  caf::anon_send(batcher_, stop);
  RunDelayed();
  EXPECT_EQ(batches_.size(), 1u) << "nothing is left in the window";
}

TEST_F(CgoBatcherTest, WhatIsRecordedIsTheEnginesMatter) {
  v1::EventsRecorded recorded;
  recorded.set_sequence(64);
  caf::anon_send(batcher_, recorded);
  Run();
  EXPECT_EQ(recorded_, std::vector<int>{64});
}

}  // namespace
}  // namespace lanista
