#include "actors/experiment.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/time_util.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// An experiment between a fake strategy, engine, journal and watcher.
class ExperimentTest : public ActorTest {
 protected:
  // The strategy has `samples` models to propose.
  void StartExperiment(int samples, int concurrency, int max_trials) {
    samples_left_ = samples;
    ExperimentOptions options;
    options.id = "e";
    options.max_in_flight = concurrency;
    if (max_trials > 0) options.config.set_max_trial_number(max_trials);
    if (max_duration_seconds_ > 0) {
      *options.config.mutable_max_duration() =
          google::protobuf::util::TimeUtil::SecondsToDuration(max_duration_seconds_);
    }
    options.strategy = Spawn([this](StrategyActor::pointer) -> StrategyActor::behavior_type {
      return {[this](const v1::AskRequest& ask) {
                v1::AskReply reply;
                if (strategy_error_) reply.mutable_error()->set_message("no idea");
                for (int i = 0; i < ask.count() && samples_left_ > 0; ++i)
                  *reply.add_samples() = MakeSample(samples_left_--);
                reply.set_exhausted(samples_left_ == 0 && !silent_when_empty_);
                return reply;
              },
              [this](const v1::TellRequest& tell) { absl::StrAppend(&log_, "tell", tell.model(), " "); }};
    });
    options.journal = Spawn([this](JournalActor::pointer) -> JournalActor::behavior_type {
      return {[this](const v1::JournalBatch& batch) -> caf::result<v1::Ack> {
        if (journal_broken_) return ToCafError(absl::ResourceExhaustedError("the disk is full"));
        for (const v1::JournalRecord& record : batch.records()) {
          if (record.has_outcome()) absl::StrAppend(&log_, "journal", record.outcome().model(), " ");
        }
        return v1::Ack();
      }};
    });
    options.watcher = Spawn([this](WatcherActor::pointer) -> WatcherActor::behavior_type {
      return {[this](const v1::ExperimentEvent& event) {
        if (event.has_state()) states_.push_back(event.state());
        if (event.has_outcome()) absl::StrAppend(&log_, "watch", event.outcome().model(), " ");
      }};
    });
    options.make_engine = [this](const ModelOwnerActor& owner) -> ModelRunnerActor {
      return Spawn([this, owner](ModelRunnerActor::pointer self) -> ModelRunnerActor::behavior_type {
        return {[this](const v1::RunModels& run) {
                  for (const v1::TrialModel& model : run.models()) running_.push_back(model.model());
                  last_run_ = run;
                },
                [this, self, owner](const v1::CancelExperiment&) {
                  if (keep_open_) return;
                  for (const int model : running_) {
                    v1::ModelOutcome outcome;
                    outcome.set_model(model);
                    outcome.set_outcome(v1::CANCELED);
                    self->send(owner, outcome);
                  }
                  running_.clear();
                }};
      });
    };
    experiment_ = Spawn(Experiment, options);
    Run();
  }

  // The oldest running model ends so.
  void EndOne(v1::Outcome outcome, v1::FailureReason reason = v1::EXCEPTION) {
    ASSERT_FALSE(running_.empty());
    v1::ModelOutcome message;
    message.set_model(running_.front());
    running_.erase(running_.begin());
    message.set_outcome(outcome);
    if (outcome == v1::SUCCEEDED) (*message.mutable_metrics()->mutable_values())["default"] = 0.5;
    if (outcome == v1::FAILED) {
      message.mutable_failure()->set_reason(reason);
      message.mutable_failure()->set_message("boom");
    }
    caf::anon_send(experiment_, message);
    Run();
  }

  v1::ExperimentState state() const { return states_.back().state(); }

  bool strategy_error_ = false;
  bool silent_when_empty_ = false;
  bool journal_broken_ = false;
  int64_t max_duration_seconds_ = 0;
  // The engine does not cancel what runs: the experiment stays.
  bool keep_open_ = false;
  int samples_left_ = 0;
  std::vector<int> running_;
  v1::RunModels last_run_;
  std::vector<v1::StateChanged> states_;
  std::string log_;
  ExperimentActor experiment_;
};

TEST_F(ExperimentTest, TellsTheEngineWhetherMoreModelsCanCome) {
  StartExperiment(/*samples=*/10, /*concurrency=*/3, /*max_trials=*/4);
  EXPECT_EQ(last_run_.models_size(), 3);
  EXPECT_EQ(last_run_.in_flight(), 3);
  EXPECT_TRUE(last_run_.full());
  EXPECT_FALSE(last_run_.last());
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(last_run_.models_size(), 1);
  EXPECT_TRUE(last_run_.last()) << "max_trial_number";
}

TEST_F(ExperimentTest, AStrategyThatWaitsForOutcomesLeavesTheEngineNothingToWaitFor) {
  silent_when_empty_ = true;
  StartExperiment(/*samples=*/2, /*concurrency=*/3, /*max_trials=*/0);
  EXPECT_EQ(last_run_.models_size(), 0);
  EXPECT_EQ(last_run_.in_flight(), 2);
  EXPECT_TRUE(last_run_.full());
  EXPECT_FALSE(last_run_.last());
}

TEST_F(ExperimentTest, KeepsAsManyModelsInFlightAsItMay) {
  StartExperiment(/*samples=*/10, /*concurrency=*/3, /*max_trials=*/4);
  EXPECT_EQ(running_, (std::vector<int>{1, 2, 3}));
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(running_, (std::vector<int>{2, 3, 4}));
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(running_, (std::vector<int>{3, 4})) << "max_trial_number counts models";
  EXPECT_EQ(state(), v1::RUNNING);
  EndOne(v1::SUCCEEDED);
  EndOne(v1::FAILED);
  EXPECT_EQ(state(), v1::DONE);
}

TEST_F(ExperimentTest, AnExhaustedSpaceEndsIt) {
  StartExperiment(2, 4, 20);
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(state(), v1::RUNNING);
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(state(), v1::DONE);
  EXPECT_EQ(states_.back().reason(), "the space is exhausted");
}

TEST_F(ExperimentTest, AnOutcomeIsInTheJournalBeforeAnyoneHearsOfIt) {
  StartExperiment(1, 1, 0);
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(log_.find("journal1"), 0u) << log_;
  EXPECT_NE(log_.find("tell1"), std::string::npos);
  EXPECT_NE(log_.find("watch1"), std::string::npos);
}

TEST_F(ExperimentTest, AnOutcomeCountsOnce) {
  StartExperiment(3, 1, 3);
  v1::ModelOutcome outcome;
  outcome.set_model(1);
  outcome.set_outcome(v1::SUCCEEDED);
  caf::anon_send(experiment_, outcome);
  Run();
  caf::anon_send(experiment_, outcome);
  Run();
  EXPECT_EQ(log_.find("journal1", 1), std::string::npos) << log_;
}

TEST_F(ExperimentTest, WhereNoModelSucceededItHasFailedAndSaysWhy) {
  StartExperiment(2, 2, 0);
  EndOne(v1::FAILED);
  EndOne(v1::FAILED);
  EXPECT_EQ(state(), v1::EXPERIMENT_FAILED);
  EXPECT_EQ(states_.back().reason(), "no model succeeded, 2 failed; the first: boom");
}

TEST_F(ExperimentTest, AStopCancelsWhatRuns) {
  StartExperiment(10, 2, 0);
  v1::StopExperiment stop;
  stop.set_reason("Ctrl-C");
  caf::anon_send(experiment_, stop);
  Run();
  EXPECT_EQ(state(), v1::STOPPED);
  EXPECT_EQ(states_.back().reason(), "Ctrl-C");
  EXPECT_EQ(states_[states_.size() - 2].state(), v1::STOPPING);
}

TEST_F(ExperimentTest, MaxDurationEndsIt) {
  max_duration_seconds_ = 60;
  StartExperiment(10, 2, 0);
  EXPECT_EQ(state(), v1::RUNNING);
  RunDelayed();
  EXPECT_EQ(state(), v1::DONE);
  EXPECT_EQ(states_.back().reason(), "max_duration is over");
}

TEST_F(ExperimentTest, AMaxDurationOfCenturiesIsNotOverAtOnce) {
  max_duration_seconds_ = 10'000'000'000;
  StartExperiment(10, 2, 0);
  scheduler().advance_time(std::chrono::hours(1));
  Run();
  EXPECT_EQ(state(), v1::RUNNING);
}

TEST_F(ExperimentTest, ABrokenJournalFailsItWithoutHanging) {
  StartExperiment(10, 2, 0);
  journal_broken_ = true;
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(state(), v1::EXPERIMENT_FAILED);
  EXPECT_EQ(states_.back().reason(), "the disk is full");
}

TEST_F(ExperimentTest, TrialsPlannedAfterTheJournalBrokeAreRefusedAtOnce) {
  StartExperiment(10, 2, 0);
  journal_broken_ = true;
  keep_open_ = true;
  EndOne(v1::SUCCEEDED);
  caf::scoped_actor self(system_);
  auto request = self->request(experiment_, std::chrono::seconds(1), v1::PlannedTrials());
  Run();
  std::string message;
  request.receive([](const v1::Ack&) {},
                  [&](const caf::error& error) { message = std::string(FromCafError(error).message()); });
  EXPECT_EQ(message, "the disk is full");
}

TEST_F(ExperimentTest, AStrategyThatFailsFailsIt) {
  strategy_error_ = true;
  StartExperiment(10, 2, 0);
  EXPECT_EQ(state(), v1::EXPERIMENT_FAILED);
  EXPECT_EQ(states_.back().reason(), "the strategy failed: no idea");
}

TEST_F(ExperimentTest, AStrategyThatProposesNothingIsNotWaitedForForEver) {
  silent_when_empty_ = true;
  StartExperiment(1, 2, 0);
  EXPECT_EQ(state(), v1::RUNNING) << "it may be waiting for an outcome";
  EndOne(v1::SUCCEEDED);
  EXPECT_EQ(state(), v1::EXPERIMENT_FAILED);
}

TEST_F(ExperimentTest, LosingWorkersAgainAndAgainFailsIt) {
  StartExperiment(100, 1, 0);
  for (int model = 0; model < 3; ++model) EndOne(v1::FAILED, v1::WORKER_LOST);
  EXPECT_EQ(state(), v1::EXPERIMENT_FAILED);
  EXPECT_EQ(samples_left_, 97);
}

}  // namespace
}  // namespace lanista
