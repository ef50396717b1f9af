#include "actors/experiment.h"

#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "caf/typed_response_promise.hpp"
#include "google/protobuf/util/time_util.h"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// An experiment between a fake strategy, engine, journal and watcher.
class ExperimentTest : public ActorTest {
 protected:
  // Told to, they answer what they hold back.
  using HeldStrategy = StrategyActor::extend<caf::reacts_to<commit_atom>>;
  using HeldJournal = JournalActor::extend<caf::reacts_to<commit_atom>>;
  using HeldStopper = StopperActor::extend<caf::reacts_to<commit_atom>>;

  // The strategy has `samples` models to propose.
  void StartExperiment(int samples, int concurrency, int max_trials) {
    samples_left_ = samples;
    ExperimentOptions options;
    options.id = "e";
    options.max_trials = concurrency;
    options.models_per_trial = models_per_trial_;
    if (max_trials > 0) options.config.set_max_trial_number(max_trials);
    if (trial_concurrency_ > 0) options.config.set_trial_concurrency(trial_concurrency_);
    if (max_duration_seconds_ > 0) {
      *options.config.mutable_max_duration() =
          google::protobuf::util::TimeUtil::SecondsToDuration(max_duration_seconds_);
    }
    options.config.mutable_keep_weights()->set_best(1);
    if (has_stopper_) {
      options.config.mutable_early_stopping()->mutable_median();
      stopper_ = Spawn([this](HeldStopper::pointer self) -> HeldStopper::behavior_type {
        return {[this, self](const v1::StepReport&) {
                  verdicts_.push_back(self->make_response_promise<v1::StopVerdict>());
                  return verdicts_.back();
                },
                [](const v1::TellRequest&) { return v1::StopVerdict(); },
                [this](commit_atom) { verdicts_.back().deliver(v1::StopVerdict()); }};
      });
      options.stopper = stopper_;
    }
    options.ledger = std::make_shared<AttemptLedger>(options.config, /*seed=*/1, "folder");
    options.start = start_;
    options.remove_checkpoints = [this](const std::string& folder) { removed_checkpoints_.push_back(folder); };
    options.remove_weights = [this](const std::string& folder) { removed_weights_.push_back(folder); };
    strategy_ = Spawn([this](HeldStrategy::pointer self) -> HeldStrategy::behavior_type {
      return {[this, self](const v1::AskRequest& ask) {
                auto promise = self->make_response_promise<v1::AskReply>();
                asks_.emplace_back(promise, Execute(ask));
                if (!hold_asks_) DeliverProposal();
                return promise;
              },
              [this](const v1::TellRequest& tell) {
                executed_.push_back(absl::StrCat("tell ", tell.model()));
                if (recorded_outcomes_.count(tell.model()) == 0) ADD_FAILURE() << tell.model() << " is not recorded";
                absl::StrAppend(&log_, "tell", tell.model(), " ");
                samples_left_ += samples_a_tell_;
              },
              [this](commit_atom) { DeliverProposal(); }};
    });
    options.strategy = strategy_;
    journal_ = Spawn([this](HeldJournal::pointer self) -> HeldJournal::behavior_type {
      return {[this, self](const v1::JournalBatch& batch) {
                auto promise = self->make_response_promise<v1::Recorded>();
                writes_.emplace_back(promise, batch);
                if (!hold_writes_) Write();
                return promise;
              },
              [this, self](const v1::Ack&) {
                auto promise = self->make_response_promise<v1::Ack>();
                pings_.push_back(promise);
                if (journal_alive_) promise.deliver(v1::Ack());
                return promise;
              },
              [this](commit_atom) { Write(); }};
    });
    options.journal = journal_;
    options.watcher = Spawn([this](WatcherActor::pointer) -> WatcherActor::behavior_type {
      return {[this](const v1::ExperimentEvent& event) {
        if (event.has_state()) states_.push_back(event.state());
        watched_.push_back(event);
        if (event.has_outcome()) absl::StrAppend(&log_, "watch", event.outcome().model(), " ");
        if (event.has_model()) absl::StrAppend(&log_, "event", event.model().model(), " ");
      }};
    });
    options.telemetry = telemetry_;
    options.weights_bars = weights_bars_;
    options.make_engine = [this](const ModelOwnerActor& owner) -> ModelRunnerActor {
      return Spawn([this, owner](ModelRunnerActor::pointer) -> ModelRunnerActor::behavior_type {
        return {[this, owner](const v1::RunModels& run) {
                  last_run_ = run;
                  // A trial each.
                  for (const v1::TrialModel& model : run.models()) {
                    running_.push_back(model.model());
                    attempts_[model.model()] = model.attempt();
                    caf::anon_send(owner, Planned(1000 + model.model(), {model.model()}));
                  }
                },
                [this](const v1::RunAgain& again) { again_.push_back(again); }, [](const v1::StopModel&) {},
                [this](const v1::EventsRecorded& recorded) { acknowledged_.push_back(recorded.sequence()); },
                [this, owner](const v1::CancelExperiment&) {
                  if (keep_open_) return;
                  for (const int model : running_) caf::anon_send(owner, Ended(model, v1::ModelEnded::CANCELED));
                  running_.clear();
                }};
      });
    };
    experiment_ = Spawn(Experiment, options);
    Run();
  }

  void Share(int trials) {
    v1::DeviceShare share;
    share.set_trials(trials);
    caf::anon_send(experiment_, share);
    Run();
  }

  // The oldest running model ends so.
  void EndOne(v1::ModelEnded::Outcome outcome, v1::Failure::Reason reason = v1::Failure::EXCEPTION) {
    SendEnd(outcome, reason);
    Run();
  }

  void SendEnd(v1::ModelEnded::Outcome outcome, v1::Failure::Reason reason = v1::Failure::EXCEPTION) {
    ASSERT_FALSE(running_.empty());
    caf::anon_send(experiment_, Ended(running_.front(), outcome, reason));
    running_.erase(running_.begin());
  }

  // A model's current attempt ended so.
  v1::ModelEvent Ended(int model, v1::ModelEnded::Outcome outcome,
                       v1::Failure::Reason reason = v1::Failure::EXCEPTION) {
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(attempts_[model]);
    v1::ModelEnded& ended = *event.mutable_ended();
    ended.set_outcome(outcome);
    ended.set_left_weights(outcome == v1::ModelEnded::SUCCEEDED);
    if (outcome == v1::ModelEnded::SUCCEEDED) (*ended.mutable_metrics()->mutable_values())["default"] = 0.5;
    if (outcome == v1::ModelEnded::FAILED) {
      ended.mutable_failure()->set_reason(reason);
      ended.mutable_failure()->set_message("boom");
    }
    return event;
  }

  // The current attempts of these models are made by this trial.
  v1::PlannedTrials Planned(int trial, const std::vector<int>& models) {
    v1::PlannedTrials planned;
    v1::TrialSpec& spec = *planned.add_trials();
    spec.set_trial(trial);
    for (const int model : models) {
      v1::TrialModel& member = *spec.add_models();
      member.set_model(model);
      member.set_attempt(attempts_[model]);
    }
    return planned;
  }

  // The next attempts of these models are made by this trial.
  void Plan(int trial, const std::vector<int>& models) {
    for (const int model : models) ++attempts_[model];
    caf::anon_send(experiment_, Planned(trial, models));
  }

  // Answers a request as the strategy would.
  v1::AskReply Execute(const v1::AskRequest& ask) {
    executed_.push_back(absl::StrCat("ask ", ask.count()));
    v1::AskReply reply;
    if (strategy_error_) reply.mutable_error()->set_message("no idea");
    for (int i = 0; i < ask.count() && samples_left_ > 0; ++i) *reply.add_samples() = MakeSample(samples_left_--);
    reply.set_exhausted(samples_left_ == 0 && !silent_when_empty_);
    return reply;
  }

  // The oldest answer that the strategy holds back comes.
  void AnswerAsk() { caf::anon_send(strategy_, commit_atom_v); }

  void DeliverProposal() {
    if (asks_.empty()) return;
    auto [promise, reply] = std::move(asks_.front());
    asks_.pop_front();
    promise.deliver(std::move(reply));
  }

  // The oldest facts that the journal holds back are written.
  void AnswerWrite() { caf::anon_send(journal_, commit_atom_v); }

  void Write() {
    if (writes_.empty()) return;
    auto [promise, batch] = std::move(writes_.front());
    writes_.pop_front();
    for (const v1::JournalRecord& record : batch.records()) {
      journal_broken_ |= record.has_state() && record.state().state() == journal_breaks_at_;
    }
    if (journal_broken_) {
      promise.deliver(ToCafError(absl::ResourceExhaustedError("the disk is full")));
      return;
    }
    v1::Recorded recorded;
    recorded.set_first_number(static_cast<int64_t>(facts_.size()) + 1);
    for (const v1::JournalRecord& record : batch.records()) {
      facts_.push_back(record);
      if (record.has_outcome()) {
        absl::StrAppend(&log_, "journal", record.outcome().model(), " ");
        recorded_outcomes_.insert(record.outcome().model());
      }
      if (!record.has_strategy_call()) continue;
      const v1::StrategyCall& call = record.strategy_call();
      EXPECT_EQ(call.sequence(), static_cast<int>(recorded_calls_.size()) + 1);
      recorded_calls_.push_back(call.has_tell() ? absl::StrCat("tell ", call.tell().model())
                                                : absl::StrCat("ask ", call.ask().count()));
    }
    promise.deliver(std::move(recorded));
  }

  v1::ExperimentState::State state() const {
    return states_.empty() ? v1::ExperimentState::CREATED : states_.back().state();
  }
  std::string Executed() const { return absl::StrJoin(executed_, ", "); }
  std::string Recorded() const { return absl::StrJoin(recorded_calls_, ", "); }

  const TelemetryPtr telemetry_ = std::make_shared<Telemetry>();
  bool strategy_error_ = false;
  bool silent_when_empty_ = false;
  bool journal_broken_ = false;
  // The first state that the journal cannot write; all later writes fail, too.
  v1::ExperimentState::State journal_breaks_at_ = v1::ExperimentState::STATE_UNSPECIFIED;
  int64_t max_duration_seconds_ = 0;
  int trial_concurrency_ = 0;
  int models_per_trial_ = 1;
  // Whether strategy and journal hold back their answers.
  bool hold_asks_ = false;
  bool hold_writes_ = false;
  std::deque<std::pair<caf::typed_response_promise<v1::AskReply>, v1::AskReply>> asks_;
  std::deque<std::pair<caf::typed_response_promise<v1::Recorded>, v1::JournalBatch>> writes_;
  // The facts in the journal, and whether it answers pings.
  std::vector<v1::JournalRecord> facts_;
  bool journal_alive_ = true;
  std::vector<caf::typed_response_promise<v1::Ack>> pings_;
  std::vector<v1::ExperimentEvent> watched_;
  // The state with which the experiment resumes.
  StartingPoint start_;
  std::vector<v1::RunAgain> again_;
  // Whether there is a stopper, and the verdicts that it still owes.
  bool has_stopper_ = false;
  std::vector<caf::typed_response_promise<v1::StopVerdict>> verdicts_;
  // Sequence numbers up to which the engine heard that events are recorded.
  std::vector<int> acknowledged_;
  std::vector<std::string> removed_checkpoints_;
  // The number of further samples with each outcome that the strategy is told.
  int samples_a_tell_ = 0;
  // The engine does not cancel what runs: the experiment stays.
  bool keep_open_ = false;
  int samples_left_ = 0;
  std::vector<int> running_;
  // Attempts planned, by model.
  std::map<int, int> attempts_;
  v1::RunModels last_run_;
  // The strategy's calls, as it executed them and as the journal has them.
  std::vector<std::string> executed_;
  std::vector<std::string> recorded_calls_;
  std::set<int> recorded_outcomes_;
  std::vector<std::string> removed_weights_;
  const WeightsBarsPtr weights_bars_ = std::make_shared<WeightsBars>();
  std::vector<v1::StateChanged> states_;
  std::string log_;
  HeldStrategy strategy_;
  HeldJournal journal_;
  HeldStopper stopper_;
  ExperimentActor experiment_;
};

TEST_F(ExperimentTest, TellsTheEngineWhetherMoreModelsCanCome) {
  StartExperiment(/*samples=*/10, /*concurrency=*/3, /*max_trials=*/4);
  EXPECT_EQ(last_run_.models_size(), 3);
  EXPECT_EQ(last_run_.in_flight(), 3);
  EXPECT_TRUE(last_run_.full());
  EXPECT_FALSE(last_run_.last());
  EndOne(v1::ModelEnded::SUCCEEDED);
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
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(running_, (std::vector<int>{2, 3, 4}));
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(running_, (std::vector<int>{3, 4})) << "max_trial_number counts models";
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EndOne(v1::ModelEnded::FAILED);
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentTest, AnExhaustedSpaceEndsIt) {
  StartExperiment(2, 4, 20);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
  EXPECT_EQ(states_.back().reason(), "the space is exhausted");
}

TEST_F(ExperimentTest, AnOutcomeIsInTheJournalBeforeAnyoneHearsOfIt) {
  StartExperiment(1, 1, 0);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(log_.find("journal1"), 0u) << log_;
  EXPECT_NE(log_.find("tell1"), std::string::npos);
  EXPECT_NE(log_.find("watch1"), std::string::npos);
}

TEST_F(ExperimentTest, AnOutcomeCountsOnce) {
  StartExperiment(3, 1, 3);
  const v1::ModelEvent ended = Ended(1, v1::ModelEnded::SUCCEEDED);
  caf::anon_send(experiment_, ended);
  Run();
  caf::anon_send(experiment_, ended);
  Run();
  EXPECT_EQ(log_.find("journal1", 1), std::string::npos) << log_;
}

TEST_F(ExperimentTest, WhereNoModelSucceededItHasFailedAndSaysWhy) {
  StartExperiment(2, 2, 0);
  EndOne(v1::ModelEnded::FAILED);
  EndOne(v1::ModelEnded::FAILED);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_.back().reason(), "no model succeeded, 2 failed; the first: boom");
}

TEST_F(ExperimentTest, AStopCancelsWhatRuns) {
  StartExperiment(10, 2, 0);
  v1::StopExperiment stop;
  stop.set_reason("Ctrl-C");
  caf::anon_send(experiment_, stop);
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::STOPPED);
  EXPECT_EQ(states_.back().reason(), "Ctrl-C");
  EXPECT_EQ(states_[states_.size() - 2].state(), v1::ExperimentState::STOPPING);
}

TEST_F(ExperimentTest, MaxDurationEndsIt) {
  max_duration_seconds_ = 60;
  StartExperiment(10, 2, 0);
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  RunDelayed();
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
  EXPECT_EQ(states_.back().reason(), "max_duration is over");
}

TEST_F(ExperimentTest, ABrokenJournalFailsItWithoutHanging) {
  StartExperiment(10, 2, 0);
  journal_broken_ = true;
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_.back().reason(), "the disk is full");
}

TEST_F(ExperimentTest, NobodyHearsOfWhatABrokenJournalLost) {
  StartExperiment(10, 2, 0);
  log_.clear();
  states_.clear();
  journal_broken_ = true;
  hold_writes_ = true;
  SendEnd(v1::ModelEnded::SUCCEEDED);
  SendEnd(v1::ModelEnded::SUCCEEDED);
  v1::ModelEvent event;
  event.set_model(1);
  event.mutable_intermediate();
  caf::anon_send(experiment_, event);
  Run();
  // Three: of the outcomes and of the event.
  for (int i = 0; i < 3; ++i) {
    AnswerWrite();
    Run();
  }
  EXPECT_EQ(log_, "") << "neither the strategy nor the watcher";
  ASSERT_EQ(states_.size(), 1u);
  EXPECT_EQ(states_[0].state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_[0].reason(), "the disk is full");
}

TEST_F(ExperimentTest, SaysWhatIsRecordedOnceItIs) {
  StartExperiment(1, 1, 0);
  hold_writes_ = true;
  v1::ModelEvent event;
  event.set_model(1);
  event.set_attempt(1);
  event.mutable_intermediate();
  for (int sequence = 1; sequence <= 130; ++sequence) {
    event.set_sequence(sequence);
    caf::anon_send(experiment_, event);
  }
  Run();
  for (int write = 0; write < 127; ++write) AnswerWrite();
  Run();
  EXPECT_EQ(acknowledged_, std::vector<int>{64});
  // A large one, by itself.
  (*event.mutable_intermediate()->mutable_metrics()->mutable_values())[std::string(5000, 'x')] = 1;
  event.set_sequence(131);
  caf::anon_send(experiment_, event);
  Run();
  for (int write = 0; write < 4; ++write) AnswerWrite();
  Run();
  EXPECT_EQ(acknowledged_, (std::vector<int>{64, 128, 131}));
}

TEST_F(ExperimentTest, TheEndOfAnAttemptIsAcknowledgedWhenItIsRecorded) {
  StartExperiment(10, 2, 3);
  hold_writes_ = true;
  const int sequence = Ended(1, v1::ModelEnded::SUCCEEDED).sequence();
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_TRUE(acknowledged_.empty());
  AnswerWrite();
  Run();
  EXPECT_EQ(acknowledged_, std::vector<int>{sequence});
}

TEST_F(ExperimentTest, WhatTheStopperHasNotHeardOfIsNotAcknowledged) {
  has_stopper_ = true;
  StartExperiment(1, 1, 0);
  v1::ModelEvent event;
  event.set_model(1);
  event.set_attempt(1);
  for (int step = 0; step < 3; ++step) {
    event.set_sequence(64 * (step + 1));
    event.mutable_intermediate()->set_step(step);
    (*event.mutable_intermediate()->mutable_metrics()->mutable_values())["default"] = 1;
    caf::anon_send(experiment_, event);
  }
  Run();
  ASSERT_EQ(verdicts_.size(), 1u) << "one after the other";
  EXPECT_TRUE(acknowledged_.empty());
  caf::anon_send(stopper_, commit_atom_v);
  Run();
  EXPECT_EQ(acknowledged_, std::vector<int>{64});
  keep_open_ = true;
  caf::anon_send(experiment_, v1::StopExperiment());
  Run();
  EXPECT_EQ(acknowledged_, (std::vector<int>{64, 128, 192})) << "no verdict follows";
}

TEST_F(ExperimentTest, ATrialDoesNotWaitForABrokenJournal) {
  StartExperiment(1, 1, 0);
  keep_open_ = true;
  journal_broken_ = true;
  v1::ModelEvent event;
  event.set_model(1);
  event.set_attempt(1);
  event.mutable_intermediate();
  for (const int sequence : {64, 128}) {
    event.set_sequence(sequence);
    caf::anon_send(experiment_, event);
    Run();
  }
  EXPECT_EQ(acknowledged_, (std::vector<int>{64, 128}));
}

TEST_F(ExperimentTest, AStoppedExperimentWhoseJournalBreaksHasFailed) {
  StartExperiment(10, 2, 0);
  keep_open_ = true;
  caf::anon_send(experiment_, v1::StopExperiment());
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::STOPPING);
  journal_broken_ = true;
  EndOne(v1::ModelEnded::CANCELED);
  EndOne(v1::ModelEnded::CANCELED);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_.back().reason(), "the disk is full");
}

TEST_F(ExperimentTest, TrialsPlannedAfterTheJournalBrokeAreRefusedAtOnce) {
  StartExperiment(10, 2, 0);
  journal_broken_ = true;
  keep_open_ = true;
  EndOne(v1::ModelEnded::SUCCEEDED);
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
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_.back().reason(), "the strategy failed: no idea");
}

TEST_F(ExperimentTest, AStrategyThatProposesNothingIsNotWaitedForForEver) {
  silent_when_empty_ = true;
  StartExperiment(1, 2, 0);
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING) << "it may be waiting for an outcome";
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
}

TEST_F(ExperimentTest, LosingWorkersAgainAndAgainFailsIt) {
  StartExperiment(100, 1, 0);
  for (int model = 0; model < 3; ++model) EndOne(v1::ModelEnded::FAILED, v1::Failure::WORKER_LOST);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(samples_left_, 97);
}

TEST_F(ExperimentTest, DataThatCannotBeReadFailsItAtOnce) {
  StartExperiment(100, 1, 0);
  EndOne(v1::ModelEnded::FAILED, v1::Failure::EXCEPTION);
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  EndOne(v1::ModelEnded::FAILED, v1::Failure::DATA_UNREADABLE);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(samples_left_, 98);
}

TEST_F(ExperimentTest, CallsAreLoggedAsTheStrategyExecutedThem) {
  StartExperiment(/*samples=*/10, /*concurrency=*/2, /*max_trials=*/5);
  // Two outcomes at once, and one while the strategy is asked.
  SendEnd(v1::ModelEnded::SUCCEEDED);
  SendEnd(v1::ModelEnded::SUCCEEDED);
  Run();
  hold_asks_ = true;
  EndOne(v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(asks_.size(), 1u);
  EndOne(v1::ModelEnded::SUCCEEDED);
  hold_asks_ = false;
  AnswerAsk();
  Run();
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
  EXPECT_EQ(Recorded(), Executed());
}

TEST_F(ExperimentTest, CallsAreLoggedAsTheStrategyExecutedThemWhateverComesWhen) {
  for (int seed = 1; seed <= 200; ++seed) {
    std::mt19937 random(seed);
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    samples_a_tell_ = seed % 2;
    silent_when_empty_ = samples_a_tell_ > 0;
    hold_asks_ = hold_writes_ = true;
    for (auto* calls : {&executed_, &recorded_calls_}) calls->clear();
    recorded_outcomes_.clear();
    states_.clear();
    running_.clear();
    attempts_.clear();
    int trials = 0;
    const int models = silent_when_empty_ ? 20 : 0;
    StartExperiment(/*samples=*/silent_when_empty_ ? 2 : 20, /*concurrency=*/4, models);
    const int stop_at = chance(30) ? static_cast<int>(random() % 100) : -1;
    for (int step = 0; step < 10000 && state() != v1::ExperimentState::DONE && state() != v1::ExperimentState::STOPPED;
         ++step) {
      if (step == stop_at) caf::anon_send(experiment_, v1::StopExperiment());
      // From a stop on plans are refused.
      const bool stopped = stop_at >= 0 && step >= stop_at;
      if (chance(20) && !running_.empty() && !stopped) Plan(++trials, running_);
      while (chance(50) && !running_.empty()) SendEnd(v1::ModelEnded::SUCCEEDED);
      // Messages may pass each other halfway.
      while (chance(50) && scheduler().try_run_once()) {
      }
      while (chance(50) && !writes_.empty()) AnswerWrite();
      if (chance(30) && !asks_.empty()) AnswerAsk();
      if (chance(50)) Run();
    }
    Run();
    ASSERT_TRUE(state() == v1::ExperimentState::DONE || state() == v1::ExperimentState::STOPPED)
        << "seed " << seed << ": " << Executed() << "; " << states_.back().reason();
    // A stop drops the answer to the last call.
    if (state() == v1::ExperimentState::STOPPED && executed_.size() == recorded_calls_.size() + 1) executed_.pop_back();
    ASSERT_EQ(Recorded(), Executed()) << "seed " << seed;
    if (state() == v1::ExperimentState::STOPPED) asks_.clear();
    ASSERT_TRUE(asks_.empty());
    // The end does not wait for records of attempts that decide nothing.
    writes_.clear();
  }
}

TEST_F(ExperimentTest, TheStrategyHearsOfAllModelsOfAMergedTrialBeforeItIsAskedAgain) {
  StartExperiment(/*samples=*/20, /*concurrency=*/4, /*max_trials=*/0);
  Plan(1, {1, 2, 3, 4});
  for (int model = 1; model <= 4; ++model) EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(Executed(), "ask 4, tell 1, tell 2, tell 3, tell 4, ask 4");
}

TEST_F(ExperimentTest, ModelsThatRunAgainAloneHoldNobodyBack) {
  StartExperiment(/*samples=*/20, /*concurrency=*/3, /*max_trials=*/0);
  Plan(1, {1, 2, 3});
  EndOne(v1::ModelEnded::STOPPED_EARLY);
  // The trial broke.
  Plan(2, {2});
  Plan(3, {3});
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(Executed(), "ask 3, tell 1, tell 2, ask 2");
}

TEST_F(ExperimentTest, AStrategyThatHasNothingYetIsAskedAgainOnceItHasHeardOfWhatEndedMeanwhile) {
  silent_when_empty_ = true;
  samples_a_tell_ = 1;
  StartExperiment(/*samples=*/2, /*concurrency=*/2, /*max_trials=*/0);
  samples_left_ = 0;
  EndOne(v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(running_, (std::vector<int>{2, 3}));
  hold_asks_ = true;
  samples_a_tell_ = 0;
  EndOne(v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(asks_.size(), 1u);
  // The strategy was asked and has nothing to propose; its answer comes after the last model in flight has ended.
  samples_a_tell_ = 1;
  EndOne(v1::ModelEnded::SUCCEEDED);
  hold_asks_ = false;
  AnswerAsk();
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING) << states_.back().reason();
  EXPECT_EQ(running_, std::vector<int>{4});
}

TEST_F(ExperimentTest, AStopDoesNotWaitForAStrategyThatThinks) {
  hold_asks_ = true;
  strategy_error_ = true;
  StartExperiment(10, 2, 0);
  v1::StopExperiment stop;
  stop.set_reason("Ctrl-C");
  caf::anon_send(experiment_, stop);
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::STOPPED);
  EXPECT_EQ(states_.back().reason(), "Ctrl-C");
  const size_t states = states_.size();
  AnswerAsk();
  Run();
  EXPECT_EQ(states_.size(), states) << "nobody waits for it any more";
}

TEST_F(ExperimentTest, AModelThatEndsAfterAStopIsNotHeldUpByAStrategyThatThinks) {
  keep_open_ = true;
  StartExperiment(10, 2, 0);
  hold_asks_ = true;
  EndOne(v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(asks_.size(), 1u);
  v1::StopExperiment stop;
  caf::anon_send(experiment_, stop);
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::STOPPING);
  while (!running_.empty()) EndOne(v1::ModelEnded::CANCELED);
  EXPECT_EQ(state(), v1::ExperimentState::STOPPED);
}

TEST_F(ExperimentTest, AStrategyMayThinkForAsLongAsItLikes) {
  hold_asks_ = true;
  StartExperiment(1, 1, 0);
  for (int minutes = 0; minutes < 60; ++minutes) {
    ASSERT_TRUE(scheduler().trigger_timeout());
    Run();
  }
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  hold_asks_ = false;
  AnswerAsk();
  Run();
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentTest, AJournalThatDoesNotAnswerFailsIt) {
  StartExperiment(2, 1, 0);
  hold_writes_ = true;
  journal_alive_ = false;
  SendEnd(v1::ModelEnded::SUCCEEDED);
  Run();
  RunDelayed();
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_.back().reason(), "the journal has not answered for 10 minutes: its disk seems to hang");
}

TEST_F(ExperimentTest, AJournalThatWaitsForADiskIsWaitedFor) {
  StartExperiment(2, 1, 0);
  hold_writes_ = true;
  SendEnd(v1::ModelEnded::SUCCEEDED);
  Run();
  for (int minutes = 0; minutes < 60; ++minutes) {
    ASSERT_TRUE(scheduler().trigger_timeout());
    Run();
  }
  EXPECT_FALSE(pings_.empty());
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  EXPECT_TRUE(running_.empty()) << "nothing is assigned meanwhile";
  hold_writes_ = false;
  while (!writes_.empty()) {
    AnswerWrite();
    Run();
  }
  EXPECT_EQ(running_, std::vector<int>{2});
}

TEST_F(ExperimentTest, AnsweredRequestsLeaveNothingBehind) {
  StartExperiment(1000, 1, 0);
  for (int model = 0; model < 100; ++model) EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_TRUE(scheduler().trigger_timeout()) << "the watchdog";
  Run();
  EXPECT_FALSE(scheduler().trigger_timeout()) << "it has nothing to watch";
}

TEST_F(ExperimentTest, AJournalThatBreaksAtTheVeryLastFactFailsIt) {
  journal_breaks_at_ = v1::ExperimentState::DONE;
  StartExperiment(1, 1, 0);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(states_.back().reason(), "the disk is full");
}

TEST_F(ExperimentTest, AStopThatComesWhileItsEndIsWrittenDownChangesNothing) {
  StartExperiment(1, 1, 0);
  hold_writes_ = true;
  SendEnd(v1::ModelEnded::SUCCEEDED);
  Run();
  const auto ends = [this] {
    const auto& records = writes_.front().second.records();
    return !records.empty() && records.rbegin()->state().state() == v1::ExperimentState::DONE;
  };
  while (!writes_.empty() && !ends()) {
    AnswerWrite();
    Run();
  }
  ASSERT_EQ(writes_.size(), 1u);
  caf::anon_send(experiment_, v1::StopExperiment());
  Run();
  EXPECT_EQ(writes_.size(), 1u);
  AnswerWrite();
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
  EXPECT_EQ(facts_.back().state().state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentTest, AMaxDurationOfCenturiesIsNotOverAtOnce) {
  max_duration_seconds_ = 10'000'000'000;
  StartExperiment(10, 2, 0);
  scheduler().advance_time(std::chrono::hours(1));
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
}

TEST_F(ExperimentTest, KeepsAsManyModelsInFlightAsItsShareOfTheDevicesAllows) {
  StartExperiment(/*samples=*/20, /*concurrency=*/1, /*max_trials=*/0);
  EXPECT_EQ(running_.size(), 1u);
  Share(4);
  EXPECT_EQ(running_.size(), 4u);
  EXPECT_EQ(Executed(), "ask 1, ask 3");
  Share(4);
  Share(2);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(running_.size(), 2u);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(running_.size(), 2u) << "one ended, one began";
}

TEST_F(ExperimentTest, AConfiguredConcurrencyIsNobodysShare) {
  trial_concurrency_ = 2;
  StartExperiment(/*samples=*/20, /*concurrency=*/2, /*max_trials=*/0);
  Share(9);
  EXPECT_EQ(running_.size(), 2u);
}

TEST_F(ExperimentTest, AHugeConcurrencyFillsTheQueueWithNoMoreThanItMayHold) {
  trial_concurrency_ = std::numeric_limits<int>::max();
  silent_when_empty_ = true;
  StartExperiment(/*samples=*/10, /*concurrency=*/trial_concurrency_, /*max_trials=*/0);
  EXPECT_EQ(Executed(), "ask 20000, ask 19990");
  Share(100);
  EXPECT_EQ(Executed(), "ask 20000, ask 19990") << "there is no more room";
  Share(50000);
  EXPECT_EQ(Executed(), "ask 20000, ask 19990, ask 49990") << "what devices can train is no queue";
}

TEST_F(ExperimentTest, AHugeConcurrencyOfMergedTrialsIsCountedRight) {
  trial_concurrency_ = std::numeric_limits<int>::max();
  models_per_trial_ = 8;
  StartExperiment(/*samples=*/10, /*concurrency=*/trial_concurrency_, /*max_trials=*/0);
  EXPECT_EQ(Executed(), "ask 20000");
}

TEST_F(ExperimentTest, DevicesThatTrainMoreThanTheQueueMayHoldAreFilled) {
  models_per_trial_ = 1024;
  silent_when_empty_ = true;
  StartExperiment(/*samples=*/10, /*concurrency=*/20, /*max_trials=*/0);
  EXPECT_EQ(Executed(), "ask 20000, ask 19990") << "how many devices are its own is not known yet";
  Share(20);
  EXPECT_EQ(Executed(), "ask 20000, ask 19990, ask 20470");
}

TEST_F(ExperimentTest, ModelsOfAMergedTrialWhoseNodeLeftAreMergedAgain) {
  StartExperiment(/*samples=*/2, /*concurrency=*/2, /*max_trials=*/0);
  Plan(1, {1, 2});
  for (const int model : {1, 2}) {
    v1::ModelEvent event = Ended(model, v1::ModelEnded::LOST);
    event.mutable_ended()->set_lost_cause(v1::ModelEnded::NODE_LEFT);
    caf::anon_send(experiment_, event);
    Run();
    ASSERT_EQ(last_run_.models_size(), 1);
    EXPECT_EQ(last_run_.models(0).model(), model);
    EXPECT_EQ(last_run_.models(0).attempt(), 3);
    EXPECT_EQ(last_run_.in_flight(), 2);
  }
  EXPECT_TRUE(again_.empty());
  // Alone, they go before new models.
  v1::ModelEvent event = Ended(1, v1::ModelEnded::LOST);
  event.mutable_ended()->set_lost_cause(v1::ModelEnded::NODE_LEFT);
  event.set_attempt(attempts_[1]);
  caf::anon_send(experiment_, event);
  Run();
  EXPECT_EQ(again_.size(), 1u);
}

TEST_F(ExperimentTest, NodesLearnTheBarOfWeightsWhenTheOutcomeIsInTheJournal) {
  StartExperiment(/*samples=*/2, /*concurrency=*/1, /*max_trials=*/0);
  EXPECT_EQ(weights_bars_->Get("e").metric(), "");
  hold_writes_ = true;
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(weights_bars_->Get("e").metric(), "") << "a head that is killed now forgets the outcome";
  hold_writes_ = false;
  while (!writes_.empty()) {
    AnswerWrite();
    Run();
  }
  EXPECT_EQ(weights_bars_->Get("e").metric(), "default");
  EXPECT_EQ(weights_bars_->Get("e").value(), 0.5);
  EndOne(v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(state(), v1::ExperimentState::DONE);
  EXPECT_EQ(weights_bars_->Get("e").metric(), "") << "it has ended";
}

TEST_F(ExperimentTest, WeightsOfAttemptsThatDoNotDecideAreRemoved) {
  StartExperiment(/*samples=*/2, /*concurrency=*/2, /*max_trials=*/0);
  Plan(1, {1, 2});
  // The trial broke after it had written files.
  Plan(2, {1});
  Plan(3, {2});
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(removed_weights_, (std::vector<std::string>{"folder/trials/1001", "folder/trials/1/1"}));
  removed_weights_.clear();
  EndOne(v1::ModelEnded::FAILED);
  EXPECT_EQ(removed_weights_, (std::vector<std::string>{"folder/trials/1002", "folder/trials/1/2", "folder/trials/3"}));
}

TEST_F(ExperimentTest, CheckpointsGoWithTheOutcome) {
  StartExperiment(/*samples=*/2, /*concurrency=*/2, /*max_trials=*/0);
  EXPECT_TRUE(removed_checkpoints_.empty());
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(removed_checkpoints_, std::vector<std::string>{"folder/checkpoints/1"});
}

TEST_F(ExperimentTest, AnAttemptAndItsOutcomeAreRecordedTogetherAndNumbered) {
  StartExperiment(/*samples=*/1, /*concurrency=*/1, /*max_trials=*/0);
  EndOne(v1::ModelEnded::SUCCEEDED);
  const auto number_of = [this](const auto& is) {
    for (const v1::ExperimentEvent& event : watched_) {
      if (is(event)) return event.number();
    }
    return int64_t{0};
  };
  const int64_t end = number_of([](const v1::ExperimentEvent& event) { return event.has_model(); });
  const int64_t outcome = number_of([](const v1::ExperimentEvent& event) { return event.has_outcome(); });
  EXPECT_EQ(outcome, end + 1);
  ASSERT_GT(end, 0);
  EXPECT_TRUE(facts_[static_cast<size_t>(end) - 1].event().has_ended());
  EXPECT_TRUE(facts_[static_cast<size_t>(outcome) - 1].has_outcome());
  const int64_t done =
      number_of([](const v1::ExperimentEvent& event) { return event.state().state() == v1::ExperimentState::DONE; });
  ASSERT_GT(done, outcome);
  EXPECT_EQ(facts_[static_cast<size_t>(done) - 1].state().state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentTest, AnExperimentThatGoesOnTellsWhatWasNotTold) {
  v1::TellRequest& untold = start_.untold.emplace_back();
  untold.set_model(7);
  recorded_outcomes_.insert(7);
  start_.strategy_calls = 3;
  v1::RunAgain& again = start_.alone.emplace_back();
  again.mutable_model()->set_model(5);
  start_.facts.add_records()->mutable_reopened()->set_model(5);
  for (int call = 1; call <= 3; ++call) recorded_calls_.push_back("earlier");
  StartExperiment(/*samples=*/2, /*concurrency=*/1, /*max_trials=*/0);
  EXPECT_EQ(Executed(), "tell 7, ask 1");
  ASSERT_EQ(again_.size(), 1u);
  EXPECT_EQ(again_[0].model().model(), 5);
  EXPECT_TRUE(facts_[0].has_reopened());
  EXPECT_EQ(facts_[1].state().state(), v1::ExperimentState::RUNNING);
}

TEST_F(ExperimentTest, MaxDurationCountsWhatItRanBefore) {
  max_duration_seconds_ = 60;
  start_.ran = absl::Seconds(50);
  StartExperiment(10, 2, 0);
  scheduler().advance_time(std::chrono::seconds(9));
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::RUNNING);
  scheduler().advance_time(std::chrono::seconds(2));
  Run();
  EXPECT_EQ(state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentTest, TelemetryCountsWhatIsRecordedAndOnce) {
  StartExperiment(/*samples=*/10, /*concurrency=*/2, /*max_trials=*/3);
  EXPECT_EQ(telemetry_->experiments[v1::ExperimentState::RUNNING].value(), 1);
  hold_writes_ = true;
  const v1::ModelEvent ended = Ended(1, v1::ModelEnded::SUCCEEDED);
  EndOne(v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(telemetry_->attempts_ended[v1::ModelEnded::SUCCEEDED].value(), 0u) << "it is not recorded yet";
  scheduler().advance_time(std::chrono::seconds(2));
  hold_writes_ = false;
  while (!writes_.empty()) {
    AnswerWrite();
    Run();
  }
  EXPECT_EQ(telemetry_->attempts_ended[v1::ModelEnded::SUCCEEDED].value(), 1u);
  EXPECT_EQ(telemetry_->models_ended[v1::ModelEnded::SUCCEEDED].value(), 1u);
  // The bucket of times above one second, up to 2.5 seconds.
  EXPECT_EQ(Histogram::kBounds[13], 2.5);
  EXPECT_EQ(telemetry_->journal_acknowledgement.count(13), 1u);
  caf::anon_send(experiment_, ended);
  Run();
  EXPECT_EQ(telemetry_->attempts_ended[v1::ModelEnded::SUCCEEDED].value(), 1u) << "told twice";

  // A lost attempt is no outcome of its model.
  EndOne(v1::ModelEnded::LOST);
  EXPECT_EQ(telemetry_->attempts_ended[v1::ModelEnded::LOST].value(), 1u);
  EXPECT_EQ(telemetry_->models_ended[v1::ModelEnded::LOST].value(), 0u);
  Plan(2000, {2});
  running_.push_back(2);
  keep_open_ = true;
  v1::StopExperiment stop;
  stop.set_reason("enough");
  caf::anon_send(experiment_, stop);
  Run();
  EXPECT_EQ(telemetry_->experiments[v1::ExperimentState::RUNNING].value(), 0);
  EXPECT_EQ(telemetry_->experiments[v1::ExperimentState::STOPPING].value(), 1);
  EndOne(v1::ModelEnded::CANCELED);
  EndOne(v1::ModelEnded::CANCELED);
  EXPECT_EQ(state(), v1::ExperimentState::STOPPED);
  EXPECT_EQ(telemetry_->models_ended[v1::ModelEnded::CANCELED].value(), 2u);
  EXPECT_EQ(telemetry_->experiments[v1::ExperimentState::STOPPING].value(), 0);
  EXPECT_EQ(telemetry_->experiments_ended[v1::ExperimentState::STOPPED].value(), 1u);
}

}  // namespace
}  // namespace lanista
