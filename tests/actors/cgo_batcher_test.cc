#include "actors/cgo_batcher.h"

#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// The batcher between a fake experiment and a fake engine.
class CgoBatcherTest : public ActorTest {
 protected:
  CgoBatcherTest() {
    engine_ = Spawn([this](EngineActor::pointer) -> EngineActor::behavior_type {
      return {[this](const v1::RunModels& run) { batches_.push_back(run.models_size()); },
              [this](const v1::RunAgain&) { ++again_; }, [this](const v1::CancelExperiment&) { ++cancels_; },
              [](const v1::ModelEvent&) {}};
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
  int again_ = 0;
  int cancels_ = 0;
  EngineActor engine_;
  CgoBatcherActor batcher_;
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
  // The first window's timer is the first to fire.
  scheduler().advance_time(std::chrono::milliseconds(1));
  Come(1, 9);
  scheduler().trigger_timeout();
  Run();
  EXPECT_EQ(batches_.size(), 1u);
  RunDelayed();
  EXPECT_EQ(batches_, (std::vector<int>{4, 1}));
}

TEST_F(CgoBatcherTest, AWindowOfCenturiesStaysOpen) {
  const CgoBatcherActor batcher = Spawn(CgoBatcher, ModelWindow{4, absl::InfiniteDuration()}, engine_);
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
  Come(1, 3, /*full=*/false, /*last=*/true);
  EXPECT_EQ(batches_, (std::vector<int>{2, 1, 1}));
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

}  // namespace
}  // namespace lanista
