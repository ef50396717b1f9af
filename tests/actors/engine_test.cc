#include "actors/engine.h"

#include "actors/model_events.h"
#include "engines/planner.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// The engine between a fake experiment and a fake training service.
class EngineTest : public ActorTest {
 protected:
  EngineTest() {
    owner_ = Spawn([this](ModelOwnerActor::pointer) -> ModelOwnerActor::behavior_type {
      return {[this](const v1::PlannedTrials&) -> caf::result<v1::Ack> {
                if (journal_broken_) return ToCafError(absl::UnavailableError("broken"));
                return v1::Ack();
              },
              [this](const v1::ModelEvent& event) { events_.push_back(event); },
              [this](const v1::ModelOutcome& outcome) { outcomes_.push_back(outcome); }};
    });
    service_ = Spawn([this](TrainingServiceActor::pointer) -> TrainingServiceActor::behavior_type {
      return {[](const v1::WorkerReady&) {},
              [](const v1::ModelEvent&) {},
              [](const v1::TrialEnded&) {},
              [this](const v1::TrialSpec& trial, const TrialOwnerActor&) { queued_.push_back(trial); },
              [this](const v1::CancelExperiment&) { ++cancels_; },
              [](const v1::Discover&) { return v1::Discovered(); },
              [](const v1::ListDevices&) { return v1::DeviceList(); }};
    });
    EngineOptions options;
    options.trial_template.set_experiment("e");
    options.output_folder = "out";
    v1::Choice& width = *options.space.add_choices();
    width.set_label("width");
    width.set_kind(v1::VALUE_CHOICE);
    width.add_candidates()->set_i(8);
    options.log_folder = "logs";
    options.planner = std::make_shared<SinglePlanner>();
    engine_ = Spawn(Engine, options, owner_, service_);
  }

  void RunModels(int count) {
    v1::RunModels run;
    for (int model = 1; model <= count; ++model) *run.add_models() = MakeModel(model);
    caf::anon_send(engine_, run);
    Run();
  }

  // The attempt that trial `index` (from 0) makes ends so.
  void End(size_t index, v1::Outcome outcome, const std::string& message = "") {
    v1::Failure failure;
    if (!message.empty()) failure.set_reason(v1::EXCEPTION);
    failure.set_message(message);
    caf::anon_send(engine_, EndedEvent(queued_[index], queued_[index].models(0), 1, outcome, failure));
    Run();
  }

  std::vector<v1::ModelEvent> events_;
  std::vector<v1::ModelOutcome> outcomes_;
  std::vector<v1::TrialSpec> queued_;
  int cancels_ = 0;
  bool journal_broken_ = false;
  ModelOwnerActor owner_;
  TrainingServiceActor service_;
  EngineActor engine_;
};

TEST_F(EngineTest, TellsHowATrialProcesssSpaceDiffers) {
  RunModels(1);
  v1::ModelEvent event = EndedEvent(queued_[0], queued_[0].models(0), 1, v1::FAILED, v1::Failure());
  event.mutable_ended()->mutable_failure()->set_reason(v1::SPACE_MISMATCH);
  event.mutable_ended()->mutable_failure()->set_message("another space");
  v1::Choice& depth = *event.mutable_ended()->mutable_actual_space()->add_choices();
  depth.set_label("depth");
  depth.set_kind(v1::VALUE_CHOICE);
  depth.add_candidates()->set_i(2);
  caf::anon_send(engine_, event);
  Run();
  ASSERT_EQ(outcomes_.size(), 1u);
  const std::string& message = outcomes_[0].failure().message();
  EXPECT_NE(message.find("another space"), std::string::npos) << message;
  EXPECT_NE(message.find("choice 'depth': only here"), std::string::npos) << message;
  EXPECT_NE(message.find("choice 'width'"), std::string::npos) << message;
  EXPECT_FALSE(events_[0].ended().has_actual_space()) << "the journal needs the text alone";
}

TEST_F(EngineTest, EachModelBecomesATrialWithFilesOfItsOwn) {
  RunModels(2);
  ASSERT_EQ(queued_.size(), 2u);
  EXPECT_EQ(queued_[1].trial(), 2);
  EXPECT_EQ(queued_[1].models(0).model(), 2);
  EXPECT_EQ(queued_[1].output_folder(), "out/2");
  EXPECT_EQ(queued_[1].log_file(), "logs/trial-2.log");
}

TEST_F(EngineTest, AnEndDecidesOnce) {
  RunModels(1);
  End(0, v1::FAILED, "boom");
  End(0, v1::SUCCEEDED);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::FAILED);
  EXPECT_EQ(outcomes_[0].failure().message(), "boom");
  EXPECT_EQ(outcomes_[0].attempt(), 1);
  EXPECT_EQ(events_.size(), 2u) << "both are recorded";
}

TEST_F(EngineTest, ALostAttemptIsMadeAgainBeforeNewWork) {
  RunModels(1);
  End(0, v1::LOST);
  ASSERT_EQ(queued_.size(), 2u);
  EXPECT_TRUE(queued_[1].retry());
  EXPECT_EQ(queued_[1].trial(), 2);
  EXPECT_EQ(queued_[1].models(0).attempt(), 2);
  EXPECT_TRUE(outcomes_.empty());

  End(0, v1::SUCCEEDED);
  EXPECT_TRUE(outcomes_.empty()) << "an event of the lost attempt decides nothing";
  End(1, v1::SUCCEEDED);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].attempt(), 2);
}

TEST_F(EngineTest, AModelThatIsLostAgainAndAgainHasFailed) {
  RunModels(1);
  for (size_t attempt = 0; attempt < 3; ++attempt) End(attempt, v1::LOST, "the worker went down");
  EXPECT_EQ(queued_.size(), 3u);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::FAILED);
  EXPECT_EQ(outcomes_[0].failure().message(), "the worker went down");
}

TEST_F(EngineTest, NothingIsMadeAgainAfterACancel) {
  RunModels(1);
  v1::CancelExperiment cancel;
  cancel.set_experiment("e");
  caf::anon_send(engine_, cancel);
  Run();
  EXPECT_EQ(cancels_, 1);
  End(0, v1::LOST);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::CANCELED);
}

TEST_F(EngineTest, TrialsThatCannotBeRecordedAreNotRun) {
  journal_broken_ = true;
  RunModels(2);
  EXPECT_TRUE(queued_.empty());
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::CANCELED);
}

}  // namespace
}  // namespace lanista
