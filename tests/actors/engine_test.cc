#include "actors/engine.h"

#include "actors/model_events.h"
#include "caf/event_based_actor.hpp"
#include "engines/planner.h"
#include "src/experiment/attempt_ledger.h"
#include "src/storage/state_dir.h"
#include "src/trial_process/event_window.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// Takes so many models a trial.
class TestPlanner final : public Planner {
 public:
  explicit TestPlanner(const size_t* models_per_trial) : models_per_trial_(models_per_trial) {}

  std::vector<PlannedTrial> Plan(std::vector<v1::TrialModel> models, int free) override {
    free_trials = free;
    std::vector<PlannedTrial> trials;
    for (v1::TrialModel& model : models) {
      if (trials.empty() || trials.back().models.size() == *models_per_trial_) {
        trials.push_back({{}, *models_per_trial_ == 1 ? "no others came" : "", 1000, 1500});
        trials.back().work.resize(2);
      }
      // All share the first step, and nobody the second one.
      trials.back().work[0].add_models(model.model());
      if (trials.back().models.empty()) trials.back().work[1].add_models(model.model());
      trials.back().models.push_back(std::move(model));
    }
    return trials;
  }

  void ObserveMemory(int64_t estimated, int models, int64_t measured) override {
    observed = {estimated, models, measured};
  }
  void SetDeviceMemory(int64_t bytes) override { device_memory = bytes; }

  std::vector<int64_t> observed;
  int free_trials = 0;
  int64_t device_memory = 0;

 private:
  const size_t* const models_per_trial_;
};

// The engine between an experiment that is nothing but its ledger, and a fake training service.
class EngineTest : public ActorTest {
 protected:
  EngineTest() {
    owner_ = Spawn([this](ModelOwnerActor::pointer self) -> ModelOwnerActor::behavior_type {
      return {[this, self](const v1::PlannedTrials& planned) -> caf::result<v1::Ack> {
                // While the trial is being recorded.
                for (const v1::StopModel& stop : std::exchange(stops_while_planning_, {})) self->send(engine_, stop);
                if (journal_broken_) return ToCafError(absl::UnavailableError("broken"));
                EXPECT_EQ(planned.plans_size(), planned.trials_size());
                plans_.insert(plans_.end(), planned.plans().begin(), planned.plans().end());
                for (const v1::TrialSpec& trial : planned.trials()) {
                  v1::TrialQueued queued;
                  queued.set_trial(trial.trial());
                  queued.set_alone_because(trial.alone_because());
                  for (const v1::TrialModel& model : trial.models()) {
                    v1::TrialMember& member = *queued.add_members();
                    member.set_model(model.model());
                    member.set_attempt(model.attempt());
                  }
                  const absl::Status status = ledger_.Plan(queued);
                  if (!status.ok()) return ToCafError(status);
                }
                return v1::Ack();
              },
              [this, self](const v1::ModelEvent& event) {
                events_.push_back(event);
                AttemptLedger::Decision decision = ledger_.EndAttempt(event);
                if (decision.outcome.has_value()) outcomes_.push_back(*decision.outcome);
                if (decision.again.has_value()) self->send(engine_, *decision.again);
              },
              [this](const v1::DeviceShare& share) { shares_.push_back(share.trials()); }};
    });
    service_ = Spawn([this](TrainingServiceActor::pointer) -> TrainingServiceActor::behavior_type {
      return {[](const v1::WorkerReady&) {},
              [](const v1::ProcessUp&) {},
              [](const v1::ModelEvent&) {},
              [](const v1::TrialEnded&) {},
              [this](const v1::TrialSpec& trial, const TrialOwnerActor&) { queued_.push_back(trial); },
              [this](const v1::CancelExperiment&) { ++cancels_; },
              [this](const v1::StopModel& stop) { stopped_.emplace_back(stop.trial(), stop.model()); },
              [this](const v1::EventsRecorded& recorded) {
                recorded_.push_back(recorded.trial());
                recorded_models_.push_back(recorded.model());
              },
              [this](const v1::ReturningTrials& trials, const TrialOwnerActor&) { returning_ = trials; },
              [](const v1::NodeReturned&, const WorkerActor&) { return v1::KeptTrials(); },
              [](const v1::Discover&) { return v1::Discovered(); },
              [](const v1::ListDevices&) { return v1::DeviceList(); },
              [](const v1::DeviceJoined&, const v1::NodeOffer&, const WorkerActor&) { return v1::DeviceAdded(); },
              [](const v1::HoldNode&) {},
              [this](const v1::WantDevices& wants, const DeviceUserActor&) { wanted_.push_back(wants); },
              [](const v1::AskWaiting&) { return v1::Waiting(); },
              [](const v1::ExpectDevices&) { return v1::DeviceDemand(); }};
    });
    EngineOptions options;
    options.trial_template.set_experiment("e");
    options.trial_template.set_program("P");
    options.trial_template.set_priority(7);
    options.trial_template.mutable_requirements()->set_device_kind(v1::DeviceKind::GPU);
    options.folder = "folder";
    options.share.set_trials(2);
    v1::Choice& width = *options.space.add_choices();
    width.set_label("width");
    width.set_kind(v1::Choice::VALUE_CHOICE);
    width.add_candidates()->set_i(8);
    options.planner = planner_;
    options_ = options;
    engine_ = Spawn(Engine, options, owner_, service_);
  }

  void RunModels(int count) {
    v1::RunModels run;
    for (int model = 1; model <= count; ++model) *run.add_models() = ledger_.Create(MakeSample(model));
    caf::anon_send(engine_, run);
    Run();
  }

  void Share(int trials, int64_t memory = 0) {
    v1::DeviceShare share;
    share.set_trials(trials);
    share.set_device_memory(memory);
    caf::anon_send(engine_, share);
    Run();
  }

  void Cancel() {
    for (const v1::ModelOutcome& outcome : ledger_.Cancel()) outcomes_.push_back(outcome);
    v1::CancelExperiment cancel;
    cancel.set_experiment("e");
    caf::anon_send(engine_, cancel);
    Run();
  }

  void Stop(int model) {
    v1::StopModel stop;
    stop.set_experiment("e");
    stop.set_model(model);
    caf::anon_send(engine_, stop);
    Run();
  }

  // The attempt that trial `index` (from 0) makes, at its model `member`, ends so.
  void End(size_t index, v1::ModelEnded::Outcome outcome, const std::string& message = "", int member = 0) {
    v1::Failure failure;
    if (!message.empty()) failure.set_reason(v1::Failure::EXCEPTION);
    failure.set_message(message);
    caf::anon_send(engine_, EndedEvent(queued_[index], queued_[index].models(member), 1, outcome, failure));
    Run();
  }

  AttemptLedger ledger_{v1::ExperimentConfig(), /*seed=*/1, "folder"};
  size_t models_per_trial_ = 1;
  const std::shared_ptr<TestPlanner> planner_ = std::make_shared<TestPlanner>(&models_per_trial_);
  std::vector<v1::ModelEvent> events_;
  std::vector<v1::ModelOutcome> outcomes_;
  std::vector<v1::TrialSpec> queued_;
  int cancels_ = 0;
  // The service was told: stopped models (trial and model), and recorded trials and models.
  std::vector<std::pair<int, int>> stopped_;
  std::vector<int> recorded_, recorded_models_;
  std::vector<v1::WantDevices> wanted_;
  v1::ReturningTrials returning_;
  EngineOptions options_;
  // The messages that the owner got.
  std::vector<int> shares_;
  std::vector<v1::TrialPlan> plans_;
  bool journal_broken_ = false;
  std::vector<v1::StopModel> stops_while_planning_;
  ModelOwnerActor owner_;
  TrainingServiceActor service_;
  EngineActor engine_;
};

TEST_F(EngineTest, TellsHowATrialProcesssSpaceDiffers) {
  RunModels(1);
  v1::ModelEvent event = EndedEvent(queued_[0], queued_[0].models(0), 1, v1::ModelEnded::FAILED, v1::Failure());
  event.mutable_ended()->mutable_failure()->set_reason(v1::Failure::SPACE_MISMATCH);
  event.mutable_ended()->mutable_failure()->set_message("another space");
  v1::Choice& depth = *event.mutable_ended()->mutable_actual_space()->add_choices();
  depth.set_label("depth");
  depth.set_kind(v1::Choice::VALUE_CHOICE);
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
  EXPECT_EQ(queued_[1].models(0).output_folder(), "folder/trials/2");
  EXPECT_EQ(queued_[1].log_file(), "folder/logs/trial-2.log");
}

TEST_F(EngineTest, EndsWithATrainingServiceThatEndsByAnError) {
  caf::error reason;
  Spawn([this, &reason](caf::event_based_actor* self) -> caf::behavior {
    self->set_down_handler([&reason](const caf::down_msg& down) { reason = down.reason; });
    self->monitor(engine_);
    return {[](caf::unit_t) {}};
  });
  Run();
  Spawn([this](caf::event_based_actor* self) {
    self->send_exit(service_, ToCafError(absl::ResourceExhaustedError("no memory")));
  });
  Run();
  EXPECT_EQ(FromCafError(reason), absl::ResourceExhaustedError("no memory"));
}

TEST_F(EngineTest, AnEndDecidesOnce) {
  RunModels(1);
  End(0, v1::ModelEnded::FAILED, "boom");
  End(0, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(outcomes_[0].failure().message(), "boom");
  EXPECT_EQ(outcomes_[0].attempt(), 1);
  EXPECT_EQ(events_.size(), 2u) << "both are recorded";
}

TEST_F(EngineTest, ALostAttemptIsMadeAgainBeforeNewWork) {
  RunModels(1);
  End(0, v1::ModelEnded::LOST);
  ASSERT_EQ(queued_.size(), 2u);
  EXPECT_TRUE(queued_[1].retry());
  EXPECT_EQ(queued_[1].trial(), 2);
  EXPECT_EQ(queued_[1].models(0).attempt(), 2);
  EXPECT_TRUE(outcomes_.empty());

  End(0, v1::ModelEnded::SUCCEEDED);
  EXPECT_TRUE(outcomes_.empty()) << "an event of the lost attempt decides nothing";
  End(1, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].attempt(), 2);
}

TEST_F(EngineTest, AModelThatIsLostAgainAndAgainHasFailed) {
  RunModels(1);
  for (size_t attempt = 0; attempt < 3; ++attempt) End(attempt, v1::ModelEnded::LOST, "the worker went down");
  EXPECT_EQ(queued_.size(), 3u);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(outcomes_[0].failure().message(), "the worker went down");
}

TEST_F(EngineTest, NothingIsMadeAgainAfterACancel) {
  RunModels(1);
  Cancel();
  EXPECT_EQ(cancels_, 1);
  End(0, v1::ModelEnded::LOST);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::ModelEnded::CANCELED);
}

TEST_F(EngineTest, NoMoreTrialsRunThanMay) {
  RunModels(4);
  ASSERT_EQ(queued_.size(), 2u);
  End(0, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(queued_.size(), 3u);
  EXPECT_EQ(queued_[2].models(0).model(), 3);
}

TEST_F(EngineTest, SaysWhyATrialHasOneModel) {
  RunModels(1);
  EXPECT_EQ(queued_[0].alone_because(), "no others came");
  End(0, v1::ModelEnded::SUCCEEDED);

  models_per_trial_ = 2;
  RunModels(2);
  EXPECT_EQ(queued_[1].alone_because(), "");
  End(1, v1::ModelEnded::UNMERGED);
  ASSERT_EQ(queued_.size(), 3u);
  EXPECT_EQ(queued_[2].alone_because(), "it runs again after merged trial 2");
}

TEST_F(EngineTest, SaysWhatATrialWasMeantToShare) {
  models_per_trial_ = 2;
  // Four of six models run at once; the first of the two that wait is stopped.
  RunModels(6);
  ASSERT_EQ(plans_.size(), 2u);
  EXPECT_EQ(plans_[1].memory(), 1000);
  ASSERT_EQ(plans_[1].work_size(), 2);
  EXPECT_EQ(plans_[1].work(0).models_size(), 2);
  EXPECT_EQ(plans_[1].work(1).models(0), 3);
  Stop(5);
  End(0, v1::ModelEnded::SUCCEEDED, "", 0);
  End(0, v1::ModelEnded::SUCCEEDED, "", 1);
  ASSERT_EQ(plans_.size(), 3u);
  ASSERT_EQ(plans_[2].work_size(), 1) << "what nobody does any more is gone";
  EXPECT_EQ(plans_[2].work(0).models_size(), 1);
  EXPECT_EQ(plans_[2].work(0).models(0), 6);
}

TEST_F(EngineTest, ALostTrialOfOneStillSaysWhyItIsAlone) {
  RunModels(1);
  End(0, v1::ModelEnded::LOST);
  ASSERT_EQ(queued_.size(), 2u);
  EXPECT_EQ(queued_[1].alone_because(), "no others came");
}

TEST_F(EngineTest, AModelThatRunsAgainTellsNothingAboutMemory) {
  RunModels(1);
  End(0, v1::ModelEnded::LOST);
  v1::ModelEvent event = EndedEvent(queued_[1], queued_[1].models(0), 1, v1::ModelEnded::SUCCEEDED);
  event.mutable_ended()->set_models_memory(70);
  caf::anon_send(engine_, event);
  Run();
  EXPECT_EQ(outcomes_.size(), 1u);
  EXPECT_TRUE(planner_->observed.empty());
}

TEST_F(EngineTest, ThePlannerLearnsHowManyTrialsCouldStart) {
  RunModels(1);
  EXPECT_EQ(planner_->free_trials, 2);
  v1::RunModels more;
  *more.add_models() = MakeModel(7);
  caf::anon_send(engine_, more);
  Run();
  EXPECT_EQ(planner_->free_trials, 1);
}

TEST_F(EngineTest, TrialsBeyondTheDevicesCouldNotStart) {
  EngineOptions options;
  options.folder = "folder";
  options.max_trials = 8;
  options.share.set_trials(1);
  options.planner = planner_;
  engine_ = Spawn(Engine, options, owner_, service_);
  RunModels(1);
  EXPECT_EQ(planner_->free_trials, 1);
}

TEST_F(EngineTest, AFailedTrialTellsNothingAboutMemory) {
  RunModels(1);
  v1::ModelEvent event = EndedEvent(queued_[0], queued_[0].models(0), 1, v1::ModelEnded::FAILED);
  event.mutable_ended()->set_models_memory(70);
  caf::anon_send(engine_, event);
  Run();
  EXPECT_EQ(outcomes_.size(), 1u);
  EXPECT_TRUE(planner_->observed.empty());
}

TEST_F(EngineTest, ACrashOfAMergedTrialAfterACancelIsNobodysFailure) {
  models_per_trial_ = 2;
  RunModels(2);
  Cancel();
  End(0, v1::ModelEnded::FAILED, "signal 11");
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].outcome(), v1::ModelEnded::CANCELED);
  EXPECT_FALSE(outcomes_[0].has_failure());
}

TEST_F(EngineTest, ThePlannerLearnsWhatATrialTookOfTheMemory) {
  models_per_trial_ = 2;
  RunModels(2);
  for (const int member : {0, 1}) {
    EXPECT_TRUE(planner_->observed.empty());
    v1::ModelEvent event = EndedEvent(queued_[0], queued_[0].models(member), 1, v1::ModelEnded::SUCCEEDED);
    event.mutable_ended()->set_models_memory(70 - member);
    caf::anon_send(engine_, event);
    Run();
  }
  EXPECT_EQ(planner_->observed, (std::vector<int64_t>{1000, 2, 70}));
}

TEST_F(EngineTest, MergedModelsHaveFoldersOfTheirOwn) {
  models_per_trial_ = 3;
  RunModels(3);
  ASSERT_EQ(queued_.size(), 1u);
  EXPECT_EQ(queued_[0].models(2).output_folder(), "folder/trials/1/3");
}

TEST_F(EngineTest, AModelThatFailsMergedRunsAgainAloneBeforeNewWork) {
  models_per_trial_ = 2;
  RunModels(6);
  ASSERT_EQ(queued_.size(), 2u);
  // As with on_bad_model: DROP, the other model goes on.
  End(0, v1::ModelEnded::FAILED, "boom", 1);
  EXPECT_TRUE(outcomes_.empty());
  EXPECT_EQ(queued_.size(), 2u) << "both trials still run";
  End(0, v1::ModelEnded::SUCCEEDED, "", 0);
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].model(), 1);
  ASSERT_EQ(queued_.size(), 3u);
  ASSERT_EQ(queued_[2].models_size(), 1);
  EXPECT_EQ(queued_[2].models(0).model(), 2);
  EXPECT_EQ(queued_[2].models(0).attempt(), 2);
  EXPECT_TRUE(queued_[2].retry());
  End(2, v1::ModelEnded::FAILED, "boom");
  ASSERT_EQ(outcomes_.size(), 2u);
  EXPECT_EQ(outcomes_[1].outcome(), v1::ModelEnded::FAILED);
  EXPECT_EQ(outcomes_[1].failure().message(), "boom");
  EXPECT_EQ(outcomes_[1].attempt(), 2);
}

TEST_F(EngineTest, AllModelsOfAMergedTrialThatEndedRunAgainAlone) {
  models_per_trial_ = 3;
  RunModels(3);
  End(0, v1::ModelEnded::FAILED, "boom", 1);
  End(0, v1::ModelEnded::UNMERGED, "model 2 of the merged trial failed: boom", 0);
  End(0, v1::ModelEnded::UNMERGED, "model 2 of the merged trial failed: boom", 2);
  EXPECT_TRUE(outcomes_.empty());
  ASSERT_EQ(queued_.size(), 3u) << "as many as may run";
  End(1, v1::ModelEnded::FAILED, "boom");
  End(2, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(queued_.size(), 4u);
  End(3, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(outcomes_.size(), 3u);
  for (const v1::ModelOutcome& outcome : outcomes_) {
    EXPECT_EQ(outcome.outcome(), outcome.model() == 2 ? v1::ModelEnded::FAILED : v1::ModelEnded::SUCCEEDED);
    EXPECT_EQ(outcome.attempt(), 2);
  }
}

TEST_F(EngineTest, ACancelEndsWhatWaitsForItsTurn) {
  RunModels(3);
  Cancel();
  ASSERT_EQ(outcomes_.size(), 1u);
  EXPECT_EQ(outcomes_[0].model(), 3);
  EXPECT_EQ(outcomes_[0].outcome(), v1::ModelEnded::CANCELED);
  End(0, v1::ModelEnded::CANCELED);
  End(1, v1::ModelEnded::CANCELED);
  EXPECT_EQ(outcomes_.size(), 3u);
  EXPECT_EQ(queued_.size(), 2u);
}

TEST_F(EngineTest, TrialsThatCannotBeRecordedAreNotRun) {
  journal_broken_ = true;
  RunModels(2);
  EXPECT_TRUE(queued_.empty());
  journal_broken_ = false;
  RunModels(2);
  EXPECT_EQ(queued_.size(), 2u) << "those that were not run take no room";
}

TEST_F(EngineTest, AStopGoesToTheTrialThatRunsTheModel) {
  models_per_trial_ = 2;
  RunModels(4);
  Stop(3);
  EXPECT_EQ(stopped_, (std::vector<std::pair<int, int>>{{2, 3}}));
  End(1, v1::ModelEnded::STOPPED_EARLY, "", 0);
  Stop(3);
  Stop(77);
  EXPECT_EQ(stopped_.size(), 1u) << "it has ended, and there is no other";
}

TEST_F(EngineTest, AStoppedModelThatWaitsForATrialGetsNone) {
  RunModels(4);
  Stop(3);
  End(0, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(queued_.size(), 3u);
  EXPECT_EQ(queued_[2].models(0).model(), 4);
  EXPECT_TRUE(stopped_.empty());
  EXPECT_EQ(events_.size(), 1u) << "nobody hears of a trial that there never was";
}

TEST_F(EngineTest, AStoppedModelLeavesTheMergedTrialThatWaits) {
  models_per_trial_ = 2;
  RunModels(6);
  Stop(5);
  End(0, v1::ModelEnded::SUCCEEDED, "", 0);
  End(0, v1::ModelEnded::SUCCEEDED, "", 1);
  ASSERT_EQ(queued_.size(), 3u);
  ASSERT_EQ(queued_[2].models_size(), 1);
  EXPECT_EQ(queued_[2].models(0).model(), 6);
}

TEST_F(EngineTest, ARetryOfAStoppedModelIsDropped) {
  RunModels(3);
  // The model waits, because there was no free device when its first attempt ended.
  v1::RunAgain again;
  *again.mutable_model() = MakeModel(1, 2);
  caf::anon_send(engine_, again);
  End(0, v1::ModelEnded::STOPPED_EARLY);
  ASSERT_EQ(queued_.size(), 3u);
  EXPECT_EQ(queued_[2].models(0).attempt(), 2) << "before the new one";
  caf::anon_send(engine_, again);
  Stop(1);
  EXPECT_TRUE(stopped_.empty());
  End(1, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(queued_.size(), 4u);
  EXPECT_EQ(queued_[3].models(0).model(), 3);
}

TEST_F(EngineTest, AStopWhileATrialIsBeingRecordedFollowsItToTheQueue) {
  v1::StopModel stop;
  stop.set_model(1);
  stops_while_planning_ = {stop};
  RunModels(1);
  EXPECT_EQ(queued_.size(), 1u);
  EXPECT_EQ(stopped_, (std::vector<std::pair<int, int>>{{1, 1}}));
}

TEST_F(EngineTest, ModelsThatWereStoppedDoNotKeepThePlannerFromLearning) {
  models_per_trial_ = 2;
  RunModels(2);
  for (const int member : {0, 1}) {
    v1::ModelEvent event = EndedEvent(queued_[0], queued_[0].models(member), 1,
                                      member == 0 ? v1::ModelEnded::STOPPED_EARLY : v1::ModelEnded::SUCCEEDED);
    event.mutable_ended()->set_models_memory(70);
    caf::anon_send(engine_, event);
  }
  Run();
  EXPECT_EQ(planner_->observed, (std::vector<int64_t>{1000, 2, 70}));
}

TEST_F(EngineTest, TheServiceHearsWhenAllOfATrialIsInTheJournal) {
  models_per_trial_ = 2;
  RunModels(2);
  End(0, v1::ModelEnded::SUCCEEDED, "", 0);
  const auto recorded = [&](int member) {
    caf::anon_send(engine_,
                   AcknowledgementOf(EndedEvent(queued_[0], queued_[0].models(member), 1, v1::ModelEnded::SUCCEEDED)));
    Run();
  };
  recorded(0);
  EXPECT_EQ(recorded_models_, std::vector<int>{1}) << "the trial runs";
  End(0, v1::ModelEnded::SUCCEEDED, "", 1);
  v1::EventsRecorded step =
      AcknowledgementOf(EndedEvent(queued_[0], queued_[0].models(1), 0, v1::ModelEnded::SUCCEEDED));
  caf::anon_send(engine_, step);
  Run();
  EXPECT_EQ(recorded_models_.size(), 1u) << "what came before the end says nothing of it";
  recorded(1);
  EXPECT_EQ(recorded_models_, (std::vector<int>{1, 0})) << "0: all of it";
}

TEST_F(EngineTest, TrialsThatNodesMayBringBackRunFromTheBeginningOn) {
  options_.trials = 9;
  options_.max_trials = 2;
  TrialOnNode on_node;
  on_node.trial = 4;
  on_node.num_models = 3;
  on_node.device.set_node("n");
  on_node.models = {MakeModel(1), MakeModel(2, 2)};
  on_node.recorded = {5, 0};
  on_node.stopped = {2};
  options_.on_nodes = {on_node};
  engine_ = Spawn(Engine, options_, owner_, service_);
  Run();
  ASSERT_EQ(returning_.trials_size(), 1);
  const v1::ReturningTrial& trial = returning_.trials(0);
  EXPECT_EQ(trial.spec().trial(), 4);
  EXPECT_EQ(trial.spec().program(), "P");
  EXPECT_EQ(trial.spec().models(1).attempt(), 2);
  EXPECT_EQ(trial.spec().models(0).output_folder(), "folder/" + TrialOutputFolder(4, 1, /*merged=*/true));
  EXPECT_EQ(trial.device().node(), "n");
  EXPECT_EQ(trial.recorded(0), 5);
  EXPECT_EQ(trial.stopped(0), 2);
  // One trial of two.
  RunModels(3);
  ASSERT_EQ(queued_.size(), 1u);
  EXPECT_EQ(queued_[0].trial(), 10);
  for (const v1::TrialModel& model : trial.spec().models()) {
    caf::anon_send(engine_, EndedEvent(trial.spec(), model, 8, v1::ModelEnded::SUCCEEDED));
  }
  Run();
  EXPECT_EQ(queued_.size(), 2u) << "it has ended, and gives room";
  EXPECT_EQ(events_.size(), 2u);
  EXPECT_EQ(planner_->observed.size(), 0u);
}

TEST_F(EngineTest, OnlyTrialsThatRunHearWhatIsRecorded) {
  RunModels(1);
  v1::EventsRecorded recorded;
  for (const int trial : {1, 2}) {
    recorded.set_trial(trial);
    caf::anon_send(engine_, recorded);
  }
  Run();
  EXPECT_EQ(recorded_, std::vector<int>{1});
  End(0, v1::ModelEnded::SUCCEEDED);
  recorded.set_trial(1);
  caf::anon_send(engine_, recorded);
  Run();
  EXPECT_EQ(recorded_.size(), 1u);
}

TEST_F(EngineTest, TheShareOfTheDevicesIsHowManyTrialsRun) {
  RunModels(6);
  ASSERT_EQ(queued_.size(), 2u);
  Share(4, /*memory=*/77);
  EXPECT_EQ(queued_.size(), 4u) << "at once";
  EXPECT_EQ(shares_, std::vector<int>{4}) << "the experiment may ask for more models now";
  EXPECT_EQ(planner_->device_memory, 77);
  Share(1);
  for (size_t trial = 0; trial < 3; ++trial) End(trial, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(queued_.size(), 4u) << "one still runs";
  End(3, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(queued_.size(), 5u);
}

TEST_F(EngineTest, AConfiguredConcurrencyStaysWhateverTheShareIs) {
  EngineOptions options;
  options.folder = "folder";
  options.max_trials = 3;
  options.planner = planner_;
  engine_ = Spawn(Engine, options, owner_, service_);
  RunModels(6);
  EXPECT_EQ(queued_.size(), 3u);
  Share(1);
  Share(5);
  EXPECT_EQ(queued_.size(), 3u);
  EXPECT_EQ(wanted_.back().most_trials(), 3);
}

TEST_F(EngineTest, SaysForHowManyTrialsItWantsDevices) {
  Run();
  ASSERT_EQ(wanted_.size(), 1u);
  EXPECT_EQ(wanted_[0].experiment(), "e");
  EXPECT_EQ(wanted_[0].program(), "P");
  EXPECT_EQ(wanted_[0].priority(), 7);
  EXPECT_EQ(wanted_[0].requirements().device_kind(), v1::DeviceKind::GPU);
  EXPECT_FALSE(wanted_[0].has_most_trials());
  RunModels(3);
  End(0, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(wanted_.size(), 1u) << "others may come";
  v1::RunModels nothing_more;
  nothing_more.set_last(true);
  caf::anon_send(engine_, nothing_more);
  Run();
  ASSERT_EQ(wanted_.size(), 2u);
  EXPECT_EQ(wanted_[1].most_trials(), 2);
  End(1, v1::ModelEnded::LOST);
  EXPECT_EQ(wanted_.back().most_trials(), 2) << "it runs again";
  End(2, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(wanted_.back().most_trials(), 1) << "the other devices are others'";
}

TEST_F(EngineTest, ATrialSaysHowMuchMemoryIsExpected) {
  models_per_trial_ = 2;
  RunModels(2);
  EXPECT_EQ(queued_[0].estimated_memory(), 1500) << "the estimate, corrected";
}

}  // namespace
}  // namespace lanista
