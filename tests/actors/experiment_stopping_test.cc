// The experiment's side of early stopping: what is told to whom when, and what is written before.
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "actors/experiment.h"
#include "caf/typed_response_promise.hpp"
#include "tests/actors/actor_test.h"

namespace lanista {
namespace {

// An experiment with a stopper, between fakes. A model is a trial of its own; its number is the trial's less 1000.
class ExperimentStoppingTest : public ActorTest {
 protected:
  using HeldStopper = StopperActor::extend<caf::reacts_to<commit_atom>>;
  using HeldJournal = JournalActor::extend<caf::reacts_to<commit_atom>>;

  void StartExperiment(int concurrency, int models) {
    ExperimentOptions options;
    options.id = "e";
    options.max_trials = concurrency;
    options.config.set_max_trial_number(models);
    options.config.mutable_early_stopping()->mutable_asha();
    options.ledger = std::make_shared<AttemptLedger>(options.config, /*seed=*/1, "folder");
    options.remove_checkpoints = [](const std::string&) {};
    options.remove_weights = [](const std::string&) {};
    options.strategy = Spawn([this](StrategyActor::pointer) -> StrategyActor::behavior_type {
      return {[](const v1::AskRequest& ask) {
                v1::AskReply reply;
                for (int i = 0; i < ask.count(); ++i) *reply.add_samples() = MakeSample(i);
                return reply;
              },
              [this](const v1::TellRequest& tell) { told_.push_back(tell); }};
    });
    stopper_ = Spawn([this](HeldStopper::pointer self) -> HeldStopper::behavior_type {
      return {[this, self](const v1::StepReport& report) {
                calls_.push_back(absl::StrCat(report.model(), "@", report.step()));
                EXPECT_TRUE((is_recorded_[{report.model(), report.step()}])) << calls_.back() << " is not recorded";
                v1::StopVerdict verdict;
                if (broken_) verdict.mutable_error()->set_message("it threw");
                verdict.set_stop(report.value() < 0);
                if (verdict.stop()) verdict.set_because(absl::StrCat(report.value(), " is bad"));
                answers_.emplace_back(self->make_response_promise<v1::StopVerdict>(), verdict);
                const auto promise = answers_.back().first;
                if (!hold_verdicts_) Answer();
                return promise;
              },
              [this, self](const v1::TellRequest& ended) {
                calls_.push_back(absl::StrCat("end ", ended.model()));
                answers_.emplace_back(self->make_response_promise<v1::StopVerdict>(), v1::StopVerdict());
                const auto promise = answers_.back().first;
                if (!hold_verdicts_) Answer();
                return promise;
              },
              [this](commit_atom) { Answer(); }};
    });
    options.stopper = stopper_;
    journal_ = Spawn([this](HeldJournal::pointer self) -> HeldJournal::behavior_type {
      return {[this, self](const v1::JournalBatch& batch) {
                writes_.emplace_back(self->make_response_promise<v1::Recorded>(), batch);
                const auto promise = writes_.back().first;
                if (!hold_writes_) Write();
                return promise;
              },
              [](const v1::Ack&) { return v1::Ack(); }, [this](commit_atom) { Write(); }};
    });
    options.journal = journal_;
    options.watcher = Spawn([this](WatcherActor::pointer) -> WatcherActor::behavior_type {
      return {[this](const v1::ExperimentEvent& event) {
        if (event.has_state()) state_ = event.state();
        if (event.has_outcome()) outcomes_[event.outcome().model()].push_back(event.outcome());
      }};
    });
    options.make_engine = [this](const ModelOwnerActor& owner) -> ModelRunnerActor {
      return Spawn([this, owner](ModelRunnerActor::pointer) -> ModelRunnerActor::behavior_type {
        return {[owner](const v1::RunModels& run) {
                  for (const v1::TrialModel& model : run.models()) Plan(owner, model);
                },
                [this, owner](const v1::RunAgain& again) {
                  again_.push_back(again.model().model());
                  Plan(owner, again.model());
                },
                [this](const v1::StopModel& stop) {
                  EXPECT_TRUE(is_stop_recorded_[stop.model()]) << "a verdict is written before it is acted on";
                  stopped_trials_.push_back(stop.trial());
                },
                [](const v1::EventsRecorded&) {}, [this](const v1::CancelExperiment&) { ++cancels_; }};
      });
    };
    experiment_ = Spawn(Experiment, options);
    Run();
  }

  static void Plan(const ModelOwnerActor& owner, const v1::TrialModel& model) {
    v1::PlannedTrials planned;
    v1::TrialSpec& spec = *planned.add_trials();
    spec.set_trial(1000 * model.attempt() + model.model());
    *spec.add_models() = model;
    caf::anon_send(owner, planned);
  }

  // The model's next step.
  void Report(int model, double value, int attempt = 1) {
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(attempt);
    event.set_sequence(++sequence_);
    event.mutable_intermediate()->set_step(reports_[{model, attempt}]++);
    (*event.mutable_intermediate()->mutable_metrics()->mutable_values())["default"] = value;
    caf::anon_send(experiment_, event);
  }

  void End(int model, v1::ModelEnded::Outcome outcome, int attempt = 1) {
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(attempt);
    event.mutable_ended()->set_outcome(outcome);
    if (outcome == v1::ModelEnded::SUCCEEDED)
      (*event.mutable_ended()->mutable_metrics()->mutable_values())["default"] = 0.5;
    if (outcome == v1::ModelEnded::FAILED) event.mutable_ended()->mutable_failure()->set_message("boom");
    if (outcome == v1::ModelEnded::LOST) event.mutable_ended()->set_lost_cause(v1::ModelEnded::WORKER_DOWN);
    caf::anon_send(experiment_, event);
  }

  void Answer() {
    if (answers_.empty()) return;
    auto [promise, verdict] = std::move(answers_.front());
    answers_.pop_front();
    promise.deliver(std::move(verdict));
  }

  void Write() {
    if (writes_.empty()) return;
    auto [promise, batch] = std::move(writes_.front());
    writes_.pop_front();
    for (const v1::JournalRecord& record : batch.records()) {
      if (record.event().has_intermediate()) {
        is_recorded_[{record.event().model(), record.event().intermediate().step() + 1}] = true;
      }
      for (const v1::TrialMember& member : record.trial().members()) planned_[member.model()] = member.attempt();
      if (!record.has_stopping_call()) continue;
      const v1::StoppingCall& call = record.stopping_call();
      EXPECT_EQ(call.sequence(), static_cast<int>(recorded_calls_.size()) + 1);
      const v1::StepReport& report = call.report().report();
      recorded_calls_.push_back(call.has_ended() ? absl::StrCat("end ", call.ended().model())
                                                 : absl::StrCat(report.model(), "@", report.step()));
      if (call.report().verdict().stop()) is_stop_recorded_[report.model()] = true;
    }
    v1::Recorded recorded;
    recorded.set_first_number(1);
    promise.deliver(std::move(recorded));
  }

  // "STOPPED_EARLY at 2", "SUCCEEDED"; of a model with two outcomes both.
  std::string OutcomeOf(int model) {
    std::vector<std::string> texts;
    for (const v1::ModelOutcome& outcome : outcomes_[model]) {
      const bool stopped = outcome.outcome() == v1::ModelEnded::STOPPED_EARLY;
      texts.push_back(absl::StrCat(v1::ModelEnded::Outcome_Name(outcome.outcome()),
                                   stopped ? absl::StrCat(" at ", outcome.stopped_step()) : ""));
    }
    return absl::StrJoin(texts, ", ");
  }
  std::string Calls() const { return absl::StrJoin(calls_, ", "); }

  bool hold_verdicts_ = false;
  bool hold_writes_ = false;
  bool broken_ = false;
  int sequence_ = 0;
  int cancels_ = 0;
  // The last attempt that is planned, by model.
  std::map<int, int> planned_;
  // By model and attempt.
  std::map<std::pair<int, int>, int> reports_;
  std::map<std::pair<int, int>, bool> is_recorded_;
  std::map<int, bool> is_stop_recorded_;
  std::deque<std::pair<caf::typed_response_promise<v1::StopVerdict>, v1::StopVerdict>> answers_;
  std::deque<std::pair<caf::typed_response_promise<v1::Recorded>, v1::JournalBatch>> writes_;
  // The stopper's, as it executed them and as the journal has them.
  std::vector<std::string> calls_;
  std::vector<std::string> recorded_calls_;
  std::vector<int> stopped_trials_;
  std::vector<int> again_;
  std::vector<v1::TellRequest> told_;
  std::map<int, std::vector<v1::ModelOutcome>> outcomes_;
  v1::StateChanged state_;
  HeldStopper stopper_;
  HeldJournal journal_;
  ExperimentActor experiment_;
};

TEST_F(ExperimentStoppingTest, AVerdictStopsTheTrialAndDecidesTheOutcome) {
  StartExperiment(1, 2);
  Report(1, 0.5);
  Run();
  EXPECT_TRUE(stopped_trials_.empty());
  Report(1, -0.25);
  Run();
  EXPECT_EQ(stopped_trials_, std::vector<int>{1001});
  EXPECT_EQ(OutcomeOf(1), "") << "its trial still runs";
  Report(1, 0.9);
  End(1, v1::ModelEnded::STOPPED_EARLY);
  Run();
  ASSERT_EQ(OutcomeOf(1), "STOPPED_EARLY at 2");
  EXPECT_EQ(outcomes_[1][0].stopped_because(), "-0.25 is bad");
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0].outcome(), v1::ModelEnded::STOPPED_EARLY);
  EXPECT_EQ(told_[0].steps(), 2);
  EXPECT_EQ(told_[0].value(), -0.25);
  EXPECT_EQ(Calls(), "1@1, 1@2, end 1") << "nothing behind the verdict";
  End(2, v1::ModelEnded::SUCCEEDED);
  Run();
  EXPECT_EQ(state_.state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentStoppingTest, AStepIsInTheJournalBeforeTheStopperHearsOfItAndAVerdictBeforeItIsActedOn) {
  // The fakes look out for it.
  StartExperiment(1, 1);
  hold_writes_ = true;
  Report(1, -1);
  Run();
  EXPECT_EQ(Calls(), "");
  caf::anon_send(journal_, commit_atom_v);
  Run();
  EXPECT_EQ(Calls(), "1@1");
  EXPECT_TRUE(stopped_trials_.empty());
  caf::anon_send(journal_, commit_atom_v);
  Run();
  EXPECT_EQ(stopped_trials_, std::vector<int>{1001});
}

TEST_F(ExperimentStoppingTest, ATrialThatIsFasterThanTheVerdictChangesNothing) {
  StartExperiment(1, 1);
  hold_verdicts_ = true;
  for (const double value : {0.5, -0.25, 0.75}) Report(1, value);
  End(1, v1::ModelEnded::SUCCEEDED);
  Run();
  EXPECT_EQ(OutcomeOf(1), "");
  hold_verdicts_ = false;
  caf::anon_send(stopper_, commit_atom_v);
  Run();
  EXPECT_EQ(OutcomeOf(1), "STOPPED_EARLY at 2");
  EXPECT_TRUE(stopped_trials_.empty()) << "nobody is left to stop";
  EXPECT_EQ(Calls(), "1@1, 1@2, end 1");
  EXPECT_EQ(state_.state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentStoppingTest, AVerdictThatCrossesALostWorkerOrACrashDecides) {
  for (const v1::ModelEnded::Outcome end : {v1::ModelEnded::LOST, v1::ModelEnded::FAILED}) {
    for (auto* calls : {&calls_, &recorded_calls_}) calls->clear();
    outcomes_.clear();
    reports_.clear();
    StartExperiment(1, 1);
    hold_verdicts_ = true;
    Report(1, -1);
    End(1, end);
    Run();
    hold_verdicts_ = false;
    caf::anon_send(stopper_, commit_atom_v);
    Run();
    EXPECT_EQ(OutcomeOf(1), "STOPPED_EARLY at 1");
    EXPECT_TRUE(again_.empty()) << "what is decided is not attempted again";
  }
}

TEST_F(ExperimentStoppingTest, ALostModelWithoutAVerdictAgainstItRunsAgainOnceThatIsKnown) {
  StartExperiment(1, 1);
  hold_verdicts_ = true;
  Report(1, 0.5);
  End(1, v1::ModelEnded::LOST);
  Run();
  EXPECT_TRUE(again_.empty());
  hold_verdicts_ = false;
  caf::anon_send(stopper_, commit_atom_v);
  Run();
  EXPECT_EQ(again_, std::vector<int>{1});
  for (const double value : {0.5, -0.25}) Report(1, value, /*attempt=*/2);
  Run();
  EXPECT_EQ(Calls(), "1@1, 1@2") << "each step once";
  EXPECT_EQ(stopped_trials_, std::vector<int>{2001});
  End(1, v1::ModelEnded::STOPPED_EARLY, /*attempt=*/2);
  Run();
  EXPECT_EQ(OutcomeOf(1), "STOPPED_EARLY at 2");
}

TEST_F(ExperimentStoppingTest, AStopperThatThinksDelaysWhatItDecidesAndNobodyElse) {
  StartExperiment(2, 4);
  hold_verdicts_ = true;
  Report(1, 0.5);
  End(1, v1::ModelEnded::SUCCEEDED);
  // Models without steps end, and others come in their place.
  for (const int model : {2, 3}) {
    End(model, v1::ModelEnded::SUCCEEDED);
    Run();
    EXPECT_EQ(OutcomeOf(model), "SUCCEEDED");
  }
  EXPECT_EQ(OutcomeOf(1), "");
  for (int minutes = 0; minutes < 60; ++minutes) {
    ASSERT_TRUE(scheduler().trigger_timeout());
    Run();
  }
  EXPECT_EQ(state_.state(), v1::ExperimentState::RUNNING);
  hold_verdicts_ = false;
  while (!answers_.empty()) {
    caf::anon_send(stopper_, commit_atom_v);
    Run();
  }
  End(4, v1::ModelEnded::SUCCEEDED);
  Run();
  EXPECT_EQ(OutcomeOf(1), "SUCCEEDED");
  EXPECT_EQ(state_.state(), v1::ExperimentState::DONE);
}

TEST_F(ExperimentStoppingTest, AStopperThatThrowsFailsIt) {
  broken_ = true;
  StartExperiment(2, 4);
  Report(1, 0.5);
  Run();
  EXPECT_EQ(cancels_, 1);
  End(1, v1::ModelEnded::CANCELED);
  End(2, v1::ModelEnded::CANCELED);
  Run();
  EXPECT_EQ(state_.state(), v1::ExperimentState::FAILED);
  EXPECT_EQ(state_.reason(), "the stopper failed: it threw");
}

TEST_F(ExperimentStoppingTest, AStopDoesNotWaitForAStopperThatThinks) {
  StartExperiment(3, 3);
  Report(3, -1);
  Run();
  hold_verdicts_ = true;
  Report(1, -1);
  End(1, v1::ModelEnded::SUCCEEDED);
  Run();
  caf::anon_send(experiment_, v1::StopExperiment());
  Run();
  EXPECT_EQ(OutcomeOf(1), "CANCELED") << "a resume asks for its verdict";
  for (const int model : {2, 3}) End(model, v1::ModelEnded::CANCELED);
  Run();
  EXPECT_EQ(OutcomeOf(2), "CANCELED");
  EXPECT_EQ(OutcomeOf(3), "STOPPED_EARLY at 1") << "a verdict stands";
  EXPECT_EQ(state_.state(), v1::ExperimentState::STOPPED);
  EXPECT_EQ(absl::StrJoin(recorded_calls_, ", "), "3@1") << "what was not answered is not in the log";
}

TEST_F(ExperimentStoppingTest, CallsAreLoggedAsTheStopperExecutedThemAndEachModelHasOneOutcomeWhateverComesWhen) {
  for (int seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
    for (auto* calls : {&calls_, &recorded_calls_}) calls->clear();
    outcomes_.clear();
    reports_.clear();
    is_recorded_.clear();
    is_stop_recorded_.clear();
    planned_.clear();
    answers_.clear();
    writes_.clear();
    state_.Clear();
    hold_verdicts_ = hold_writes_ = true;
    StartExperiment(/*concurrency=*/4, /*models=*/12);
    const int stop_at = chance(30) ? static_cast<int>(random() % 60) : -1;
    // The last attempt that ended, by model.
    std::map<int, int> ended;
    const auto is_final = [&] {
      return state_.state() == v1::ExperimentState::DONE || state_.state() == v1::ExperimentState::STOPPED;
    };
    for (int step = 0; step < 10000 && !is_final(); ++step) {
      if (step == stop_at) caf::anon_send(experiment_, v1::StopExperiment());
      const bool stopping = stop_at >= 0 && step >= stop_at;
      for (const auto& [model, attempt] : planned_) {
        if (ended[model] == attempt || !chance(30)) continue;
        if (chance(60)) {
          Report(model, reports_[{model, attempt}] == model % 5 ? -1 : 1, attempt);
          continue;
        }
        ended[model] = attempt;
        End(model,
            stopping     ? v1::ModelEnded::CANCELED
            : chance(30) ? v1::ModelEnded::LOST
            : chance(20) ? v1::ModelEnded::FAILED
                         : v1::ModelEnded::SUCCEEDED,
            attempt);
      }
      while (chance(60) && scheduler().try_run_once()) {
      }
      while (chance(50) && !writes_.empty()) {
        caf::anon_send(journal_, commit_atom_v);
        Run();
      }
      while (chance(40) && !answers_.empty()) {
        caf::anon_send(stopper_, commit_atom_v);
        Run();
      }
      if (chance(50)) Run();
    }
    ASSERT_TRUE(is_final()) << Calls();
    for (const auto& [model, outcomes] : outcomes_) {
      ASSERT_EQ(outcomes.size(), 1u) << model;
      if (is_stop_recorded_[model]) {
        EXPECT_EQ(outcomes[0].outcome(), v1::ModelEnded::STOPPED_EARLY) << model;
      } else {
        EXPECT_NE(outcomes[0].outcome(), v1::ModelEnded::STOPPED_EARLY) << model;
      }
    }
    // The log has the first of the calls.
    ASSERT_LE(recorded_calls_.size(), calls_.size());
    calls_.resize(recorded_calls_.size());
    ASSERT_EQ(recorded_calls_, calls_);
  }
}

}  // namespace
}  // namespace lanista
