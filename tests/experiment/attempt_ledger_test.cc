#include "src/experiment/attempt_ledger.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

class LedgerTest : public ::testing::Test {
 protected:
  static v1::ExperimentConfig Config() {
    v1::ExperimentConfig config;
    config.mutable_keep_weights()->set_best(1);
    return config;
  }

  void Create(int count) {
    for (int i = 0; i < count; ++i) ledger_->Create(v1::Sample());
  }

  // A trial of these (model, attempt).
  absl::Status Plan(int trial, const std::vector<std::pair<int, int>>& members) {
    v1::TrialQueued queued;
    queued.set_trial(trial);
    queued.set_alone_because(members.size() == 1 ? "no others came" : "");
    for (const auto& [model, attempt] : members) {
      v1::TrialMember& member = *queued.add_members();
      member.set_model(model);
      member.set_attempt(attempt);
    }
    return ledger_->Plan(queued);
  }

  AttemptLedger::Decision End(int model, int attempt, v1::ModelEnded::Outcome outcome,
                              v1::ModelEnded::LostCause cause = v1::ModelEnded::LOST_CAUSE_UNSPECIFIED) {
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(attempt);
    v1::ModelEnded& ended = *event.mutable_ended();
    ended.set_outcome(outcome);
    ended.set_left_weights(outcome == v1::ModelEnded::SUCCEEDED);
    ended.set_lost_cause(cause);
    if (outcome == v1::ModelEnded::SUCCEEDED) (*ended.mutable_metrics()->mutable_values())["default"] = 0.5;
    if (outcome == v1::ModelEnded::FAILED || outcome == v1::ModelEnded::LOST) {
      ended.mutable_failure()->set_reason(outcome == v1::ModelEnded::LOST ? v1::Failure::WORKER_LOST
                                                                          : v1::Failure::EXCEPTION);
      ended.mutable_failure()->set_message("boom");
    }
    return ledger_->EndAttempt(event);
  }

  // The attempt begins on that node, which is lost then.
  AttemptLedger::Decision LoseWithNode(int model, int attempt, const std::string& node) {
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(attempt);
    event.mutable_started()->mutable_device()->set_node(node);
    ledger_->Note(event);
    return End(model, attempt, v1::ModelEnded::LOST, v1::ModelEnded::NODE_LOST);
  }

  // "SUCCEEDED", "again 2 merged|alone", or "nothing".
  static std::string Text(const AttemptLedger::Decision& decision) {
    EXPECT_FALSE(decision.outcome.has_value() && decision.again.has_value());
    if (decision.outcome.has_value()) return v1::ModelEnded::Outcome_Name(decision.outcome->outcome());
    if (!decision.again.has_value()) return "nothing";
    return "again " + std::to_string(decision.again->model().attempt()) + (decision.may_merge ? " merged" : " alone");
  }

  std::optional<AttemptLedger> ledger_ = AttemptLedger(Config(), /*seed=*/1, "folder");
};

TEST_F(LedgerTest, ModelsAreNumberedAndHaveSeedsOfTheirOwn) {
  const v1::TrialModel first = ledger_->Create(v1::Sample()), second = ledger_->Create(v1::Sample());
  EXPECT_EQ(first.model(), 1);
  EXPECT_EQ(second.model(), 2);
  EXPECT_NE(first.model_seed(), second.model_seed());
  EXPECT_EQ(second.checkpoint_folder(), "folder/checkpoints/2");
  EXPECT_EQ(ledger_->in_flight(), 2);
}

TEST_F(LedgerTest, TheCurrentAttemptDecidesOnce) {
  Create(1);
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::SUCCEEDED)), "nothing") << "it is not planned";
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  EXPECT_EQ(Text(End(1, 2, v1::ModelEnded::SUCCEEDED)), "nothing") << "there is no such attempt";
  EXPECT_EQ(Text(End(2, 1, v1::ModelEnded::SUCCEEDED)), "nothing") << "nor such a model";
  const AttemptLedger::Decision decision = End(1, 1, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(Text(decision), "SUCCEEDED");
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::FAILED)), "nothing");
  EXPECT_EQ(ledger_->in_flight(), 1) << "until the outcome is in the journal";
  const AttemptLedger::Closed closed = ledger_->Close(*decision.outcome);
  EXPECT_EQ(closed.tell.value(), 0.5);
  EXPECT_EQ(ledger_->in_flight(), 0);
  EXPECT_EQ(ledger_->succeeded(), 1);
}

// What becomes of an attempt that ends so: alone or merged, and whether the experiment is being canceled.
TEST_F(LedgerTest, WhatAnEndOfAnAttemptMeans) {
  const struct {
    v1::ModelEnded::Outcome outcome;
    const char* alone;
    const char* merged;
    const char* alone_canceled;
    const char* merged_canceled;
  } kRows[] = {
      {v1::ModelEnded::SUCCEEDED, "SUCCEEDED", "SUCCEEDED", "SUCCEEDED", "SUCCEEDED"},
      {v1::ModelEnded::STOPPED_EARLY, "STOPPED_EARLY", "STOPPED_EARLY", "STOPPED_EARLY", "STOPPED_EARLY"},
      {v1::ModelEnded::FAILED, "FAILED", "again 2 alone", "FAILED", "CANCELED"},
      {v1::ModelEnded::LOST, "again 2 alone", "again 2 alone", "CANCELED", "CANCELED"},
      {v1::ModelEnded::UNMERGED, "FAILED", "again 2 alone", "CANCELED", "CANCELED"},
      {v1::ModelEnded::CANCELED, "CANCELED", "CANCELED", "CANCELED", "CANCELED"},
  };
  for (const auto& row : kRows) {
    for (const bool merged : {false, true}) {
      for (const bool canceled : {false, true}) {
        ledger_.emplace(Config(), 1, "folder");
        Create(2);
        ASSERT_TRUE((merged ? Plan(1, {{1, 1}, {2, 1}}) : Plan(1, {{1, 1}})).ok());
        if (canceled) ledger_->Cancel();
        EXPECT_EQ(Text(End(1, 1, row.outcome)),
                  canceled ? (merged ? row.merged_canceled : row.alone_canceled) : (merged ? row.merged : row.alone))
            << v1::ModelEnded::Outcome_Name(row.outcome) << " merged " << merged << " canceled " << canceled;
      }
    }
  }
}

TEST_F(LedgerTest, AModelThatIsLostAgainAndAgainHasFailed) {
  Create(1);
  for (int attempt = 1; attempt <= 2; ++attempt) {
    ASSERT_TRUE(Plan(attempt, {{1, attempt}}).ok());
    EXPECT_EQ(Text(End(1, attempt, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN)),
              "again " + std::to_string(attempt + 1) + " alone");
  }
  ASSERT_TRUE(Plan(3, {{1, 3}}).ok());
  EXPECT_EQ(Text(End(1, 3, v1::ModelEnded::LOST, v1::ModelEnded::PROCESS_KILLED)), "FAILED");
}

TEST_F(LedgerTest, AHeadThatEndsIsNeverTheModelsFault) {
  Create(2);
  for (int attempt = 1; attempt <= 10; ++attempt) {
    ASSERT_TRUE(Plan(attempt, {{1, attempt}, {2, attempt}}).ok());
    EXPECT_EQ(Text(End(1, attempt, v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED)),
              "again " + std::to_string(attempt + 1) + " merged");
    EXPECT_EQ(Text(End(2, attempt, v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED)),
              "again " + std::to_string(attempt + 1) + " merged");
  }
}

TEST_F(LedgerTest, ANodeThatLeavesIsNeverTheModelsFault) {
  Create(2);
  for (int attempt = 1; attempt <= 10; ++attempt) {
    ASSERT_TRUE(Plan(attempt, {{1, attempt}, {2, attempt}}).ok());
    for (const int model : {1, 2}) {
      const AttemptLedger::Decision decision = End(model, attempt, v1::ModelEnded::LOST, v1::ModelEnded::NODE_LEFT);
      EXPECT_EQ(Text(decision), "again " + std::to_string(attempt + 1) + " merged");
      EXPECT_TRUE(decision.merged);
    }
  }
}

TEST_F(LedgerTest, AModelThatThreeNodesWereLostWithHasFailed) {
  Create(1);
  int attempt = 0;
  const auto plan = [&] {
    ++attempt;
    EXPECT_TRUE(Plan(attempt, {{1, attempt}}).ok());
  };
  for (const char* const node : {"n1", "n2", "n1", "n2"}) {
    plan();
    EXPECT_EQ(Text(LoseWithNode(1, attempt, node)).substr(0, 5), "again") << "one that comes and goes proves nothing";
  }
  // A node that is lost before the attempt began there, and other losses, are counted apart.
  plan();
  EXPECT_EQ(Text(End(1, attempt, v1::ModelEnded::LOST, v1::ModelEnded::NODE_LOST)), "again 6 alone");
  plan();
  EXPECT_EQ(Text(End(1, attempt, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN)), "again 7 alone");
  plan();
  const AttemptLedger::Decision decision = LoseWithNode(1, attempt, "n3");
  ASSERT_EQ(Text(decision), "FAILED");
  EXPECT_EQ(decision.outcome->failure().reason(), v1::Failure::WORKER_LOST);
  EXPECT_EQ(decision.outcome->failure().message(),
            "nodes were lost 5 times while they ran it: n1, n2, n3; what takes them down may be this model");
}

TEST_F(LedgerTest, AModelThatTwoNodesAreLostWithAgainAndAgainHasFailed) {
  Create(1);
  for (int attempt = 1; attempt < 10; ++attempt) {
    ASSERT_TRUE(Plan(attempt, {{1, attempt}}).ok());
    EXPECT_EQ(Text(LoseWithNode(1, attempt, attempt % 2 == 0 ? "n1" : "n2")).substr(0, 5), "again") << attempt;
  }
  ASSERT_TRUE(Plan(10, {{1, 10}}).ok());
  const AttemptLedger::Decision decision = LoseWithNode(1, 10, "n1");
  ASSERT_EQ(Text(decision), "FAILED");
  EXPECT_EQ(decision.outcome->failure().reason(), v1::Failure::WORKER_LOST);
  EXPECT_EQ(decision.outcome->failure().message(),
            "nodes were lost 10 times while they ran it: n1, n2; what takes them down may be this model");
}

TEST_F(LedgerTest, ModelsOfAMergedTrialThatANodeWasLostWithAreMergedOnceMore) {
  Create(2);
  ASSERT_TRUE(Plan(1, {{1, 1}, {2, 1}}).ok());
  EXPECT_EQ(Text(LoseWithNode(1, 1, "n1")), "again 2 merged");
  EXPECT_EQ(Text(LoseWithNode(2, 1, "n1")), "again 2 merged");
  ASSERT_TRUE(Plan(2, {{1, 2}, {2, 2}}).ok());
  EXPECT_EQ(Text(LoseWithNode(1, 2, "n2")), "again 3 alone") << "one of them may be to blame";
  ASSERT_TRUE(Plan(3, {{1, 3}}).ok());
  EXPECT_EQ(Text(LoseWithNode(1, 3, "n3")), "FAILED");
}

TEST_F(LedgerTest, NodesThatAreLostMakeNothingHopeless) {
  Create(5);
  int trial = 0;
  for (int model = 1; model <= 5; ++model) {
    for (int attempt = 1; attempt <= 3; ++attempt) {
      ASSERT_TRUE(Plan(++trial, {{model, attempt}}).ok());
      const AttemptLedger::Decision decision = LoseWithNode(model, attempt, "n" + std::to_string(attempt));
      if (decision.outcome.has_value()) ledger_->Close(*decision.outcome);
    }
  }
  EXPECT_EQ(ledger_->failed(), 5);
  EXPECT_EQ(ledger_->hopeless(), "");
}

TEST_F(LedgerTest, AModelThatBrokeAMergedTrialStaysAloneWhenTheHeadEnds) {
  Create(2);
  ASSERT_TRUE(Plan(1, {{1, 1}, {2, 1}}).ok());
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::UNMERGED)), "again 2 alone");
  ASSERT_TRUE(Plan(2, {{1, 2}}).ok());
  EXPECT_EQ(Text(End(1, 2, v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED)), "again 3 alone");
}

TEST_F(LedgerTest, CheckpointsOfWhatAStopCanceledStay) {
  Create(2);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  const AttemptLedger::Decision succeeded = End(1, 1, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(ledger_->Close(*succeeded.outcome).needless_checkpoints, "folder/checkpoints/1");
  const std::vector<v1::ModelOutcome> canceled = ledger_->Cancel();
  ASSERT_EQ(canceled.size(), 1u);
  EXPECT_EQ(ledger_->Close(canceled[0]).needless_checkpoints, "") << "a resume goes on from them";
}

TEST_F(LedgerTest, AnAttemptSaysWhyItIsAlone) {
  Create(3);
  ASSERT_TRUE(Plan(1, {{1, 1}, {2, 1}}).ok());
  EXPECT_EQ(End(1, 1, v1::ModelEnded::UNMERGED).again->alone_because(), "it runs again after merged trial 1");
  ASSERT_TRUE(Plan(2, {{3, 1}}).ok());
  EXPECT_EQ(End(3, 1, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN).again->alone_because(), "no others came");
}

TEST_F(LedgerTest, ACancelEndsWhatWaitsAndNothingIsPlannedAnyMore) {
  Create(3);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  ASSERT_TRUE(Plan(2, {{2, 1}}).ok());
  ASSERT_EQ(Text(End(2, 1, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN)), "again 2 alone");
  const std::vector<v1::ModelOutcome> outcomes = ledger_->Cancel();
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0].model(), 2);
  EXPECT_EQ(outcomes[0].attempt(), 1) << "the one that was";
  EXPECT_EQ(outcomes[1].model(), 3);
  EXPECT_EQ(outcomes[1].attempt(), 0);
  EXPECT_TRUE(ledger_->Cancel().empty()) << "once";
  EXPECT_TRUE(absl::IsCancelled(Plan(3, {{3, 1}})));
}

TEST_F(LedgerTest, WorkersThatAreLostForModelAfterModelMakeItHopeless) {
  Create(4);
  int trial = 0;
  for (int model = 1; model <= 3; ++model) {
    EXPECT_EQ(ledger_->hopeless(), "");
    for (int attempt = 1; attempt <= 3; ++attempt) {
      ASSERT_TRUE(Plan(++trial, {{model, attempt}}).ok());
      const AttemptLedger::Decision decision = End(model, attempt, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN);
      if (decision.outcome.has_value()) ledger_->Close(*decision.outcome);
    }
  }
  EXPECT_EQ(ledger_->hopeless(), "boom");
  EXPECT_EQ(ledger_->failed(), 3);
  EXPECT_EQ(ledger_->first_failure(), "boom");
}

TEST_F(LedgerTest, StepsThatWereReportedAreKnownToTheNextAttempt) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  v1::ModelEvent event;
  event.set_model(1);
  event.set_attempt(1);
  const auto report = [&](const std::vector<int>& steps) {
    for (const int step : steps) {
      event.mutable_intermediate()->set_step(step);
      ledger_->Note(event);
    }
  };
  report({0, 1, 3});
  EXPECT_EQ(End(1, 1, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN).again->model().reported_steps(), 2)
      << "step 2 is missing";

  // One that goes on adds to them; one that begins anew begins another curve.
  ASSERT_TRUE(Plan(2, {{1, 2}}).ok());
  event.set_attempt(2);
  event.mutable_started()->set_resumed_steps(2);
  ledger_->Note(event);
  report({2, 3});
  EXPECT_EQ(End(1, 2, v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED).again->model().reported_steps(), 4);
  ASSERT_TRUE(Plan(3, {{1, 3}}).ok());
  event.set_attempt(3);
  event.mutable_started()->set_resumed_steps(0);
  ledger_->Note(event);
  report({0});
  EXPECT_EQ(End(1, 3, v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED).again->model().reported_steps(), 1);
}

// With a stopper.
class StoppingLedgerTest : public LedgerTest {
 protected:
  static v1::ExperimentConfig Config() {
    v1::ExperimentConfig config = LedgerTest::Config();
    config.mutable_early_stopping()->mutable_asha();
    return config;
  }
  StoppingLedgerTest() { ledger_.emplace(Config(), /*seed=*/1, "folder"); }

  static v1::ModelEvent Reported(int model, int attempt, int step, double value) {
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(attempt);
    event.set_sequence(step + 2);
    event.mutable_intermediate()->set_step(step);
    (*event.mutable_intermediate()->mutable_metrics()->mutable_values())["default"] = value;
    return event;
  }

  // A report comes, and is in the journal at once: "model@step value" of what the stopper is to hear.
  std::string Report(int model, int attempt, int step, double value = 0.25) {
    const v1::ModelEvent event = Reported(model, attempt, step, value);
    if (!ledger_->Note(event)) return "no step";
    return Text(ledger_->Recorded(event));
  }

  AttemptLedger::Judgement Judge(int model, int step, bool stop) {
    v1::StepReport report;
    report.set_model(model);
    report.set_step(step);
    v1::StopVerdict verdict;
    verdict.set_stop(stop);
    if (stop) verdict.set_because("it is bad");
    return ledger_->Judge(report, verdict);
  }

  using LedgerTest::Text;
  static std::string Text(const std::optional<v1::StepReport>& report) {
    if (!report.has_value()) return "nothing";
    return absl::StrCat(report->model(), "@", report->step(), " ", report->value());
  }
};

TEST_F(StoppingLedgerTest, TheStopperHearsOfOneStepAfterTheOther) {
  Create(2);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  ASSERT_TRUE(Plan(2, {{2, 1}}).ok());
  EXPECT_EQ(Report(1, 1, 0, 0.125), "1@1 0.125");
  EXPECT_EQ(Report(1, 1, 1), "nothing") << "there is no verdict on step 1";
  EXPECT_EQ(Report(2, 1, 0), "2@1 0.25") << "another model";
  const v1::ModelEvent third = Reported(1, 1, 2, 0.5);
  ASSERT_TRUE(ledger_->Note(third));
  EXPECT_EQ(Text(Judge(1, 1, false).next), "1@2 0.25");
  EXPECT_EQ(Text(Judge(1, 2, false).next), "nothing") << "step 3 is not in the journal";
  EXPECT_EQ(Text(ledger_->Recorded(third)), "1@3 0.5");
  const AttemptLedger::Judgement stop = Judge(1, 3, true);
  EXPECT_EQ(stop.stop_in_trial, 1);
  EXPECT_EQ(Text(stop.decision), "nothing") << "its attempt has not ended";
  EXPECT_EQ(Report(1, 1, 3), "no step") << "nothing counts that is behind the verdict";
}

TEST_F(StoppingLedgerTest, StepsAreReportsOfDefaultEachToldOnceWhicheverAttemptMakesItFirst) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  v1::ModelEvent loss = Reported(1, 1, 0, 0);
  loss.mutable_intermediate()->mutable_metrics()->mutable_values()->clear();
  (*loss.mutable_intermediate()->mutable_metrics()->mutable_values())["loss"] = 3;
  EXPECT_FALSE(ledger_->Note(loss));
  EXPECT_EQ(Report(1, 1, 1, 0.5), "1@1 0.5") << "the first with `default`";
  Judge(1, 1, false);
  EXPECT_EQ(Report(1, 1, 1, 0.5), "no step") << "an event that comes twice";
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN)), "again 2 alone");
  ASSERT_TRUE(Plan(2, {{1, 2}}).ok());
  EXPECT_EQ(Report(1, 1, 2), "no step") << "not of the current attempt";
  EXPECT_EQ(Report(1, 2, 1, 0.5), "no step");
  EXPECT_EQ(Report(1, 2, 2, 0.75), "1@2 0.75");
  Judge(1, 2, false);
  const AttemptLedger::Decision decision = End(1, 2, v1::ModelEnded::SUCCEEDED);
  EXPECT_EQ(ledger_->Close(*decision.outcome).tell.steps(), 2);
}

TEST_F(StoppingLedgerTest, AnEndWaitsForTheVerdictsOnAllStepsBeforeIt) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  EXPECT_EQ(Report(1, 1, 0), "1@1 0.25");
  EXPECT_EQ(Report(1, 1, 1), "nothing");
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::SUCCEEDED)), "nothing");
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::FAILED)), "nothing") << "the first end counts";
  AttemptLedger::Judgement judgement = Judge(1, 1, false);
  EXPECT_EQ(Text(judgement.next), "1@2 0.25");
  EXPECT_EQ(Text(judgement.decision), "nothing");
  judgement = Judge(1, 2, false);
  EXPECT_EQ(Text(judgement.decision), "SUCCEEDED");
  EXPECT_EQ(judgement.decision.outcome->metrics().values().at("default"), 0.5) << "its final metrics";
}

TEST_F(StoppingLedgerTest, StepsAreKeptUntilThereIsAVerdict) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  for (const int step : {0, 1, 2}) Report(1, 1, step);
  v1::EventsRecorded recorded;
  recorded.set_model(1);
  recorded.set_attempt(1);
  // That of step 1.
  recorded.set_sequence(3);
  EXPECT_FALSE(ledger_->IsJudged(recorded));
  Judge(1, 1, false);
  EXPECT_FALSE(ledger_->IsJudged(recorded));
  Judge(1, 2, false);
  EXPECT_TRUE(ledger_->IsJudged(recorded));
  recorded.set_sequence(4);
  EXPECT_FALSE(ledger_->IsJudged(recorded));
  ledger_->Cancel();
  EXPECT_TRUE(ledger_->IsJudged(recorded)) << "there will be none";
}

// A verdict that crosses the end of its model's attempt, whatever that is: one outcome, the verdict's.
TEST_F(StoppingLedgerTest, AVerdictStands) {
  const struct {
    v1::ModelEnded::Outcome outcome;
    v1::ModelEnded::LostCause cause;
  } kEnds[] = {
      {v1::ModelEnded::SUCCEEDED, v1::ModelEnded::LOST_CAUSE_UNSPECIFIED},  // The last epoch.
      {v1::ModelEnded::FAILED, v1::ModelEnded::LOST_CAUSE_UNSPECIFIED},     // A crash.
      {v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN},                  // A lost worker.
      {v1::ModelEnded::LOST, v1::ModelEnded::PROCESS_KILLED},               // A kill.
      {v1::ModelEnded::LOST, v1::ModelEnded::HEAD_ENDED},                   // A resume.
      {v1::ModelEnded::LOST, v1::ModelEnded::NODE_LOST},                    // A lost node.
      {v1::ModelEnded::LOST, v1::ModelEnded::NODE_LEFT},                    // A node that was preempted.
      {v1::ModelEnded::UNMERGED, v1::ModelEnded::LOST_CAUSE_UNSPECIFIED},   // Another model broke the trial: a retry.
      {v1::ModelEnded::CANCELED, v1::ModelEnded::LOST_CAUSE_UNSPECIFIED},   // A cancel.
      {v1::ModelEnded::STOPPED_EARLY, v1::ModelEnded::LOST_CAUSE_UNSPECIFIED}  // The stop itself.
  };
  for (const auto& end : kEnds) {
    for (const bool merged : {false, true}) {
      for (const bool verdict_first : {false, true}) {
        for (const bool canceled : {false, true}) {
          // A verdict that comes behind a cancel counts no more, see below.
          if (canceled && !verdict_first) continue;
          SCOPED_TRACE(absl::StrCat(v1::ModelEnded::Outcome_Name(end.outcome), merged ? " merged" : "",
                                    verdict_first ? " verdict first" : "", canceled ? " canceled" : ""));
          ledger_.emplace(Config(), 1, "folder");
          Create(2);
          ASSERT_TRUE((merged ? Plan(7, {{1, 1}, {2, 1}}) : Plan(7, {{1, 1}})).ok());
          for (int step = 0; step < 2; ++step) Report(1, 1, step, 0.125 * (step + 1));
          Judge(1, 1, false);
          AttemptLedger::Decision decision;
          if (verdict_first) {
            EXPECT_EQ(Judge(1, 2, true).stop_in_trial, 7);
            // Reports that come before the trial knows that it is stopped are ignored.
            EXPECT_EQ(Report(1, 1, 2, 0.9), "no step");
            if (canceled) ledger_->Cancel();
            decision = End(1, 1, end.outcome, end.cause);
          } else {
            EXPECT_EQ(Text(End(1, 1, end.outcome, end.cause)), "nothing");
            AttemptLedger::Judgement judgement = Judge(1, 2, true);
            EXPECT_EQ(judgement.stop_in_trial, 0) << "there is nothing to stop";
            decision = judgement.decision;
          }
          ASSERT_EQ(Text(decision), "STOPPED_EARLY");
          EXPECT_EQ(decision.outcome->stopped_step(), 2);
          EXPECT_EQ(decision.outcome->stopped_because(), "it is bad");
          EXPECT_EQ(decision.outcome->attempt(), 1);
          EXPECT_EQ(decision.outcome->metrics().values().at("default"), 0.25) << "of the step that decided";
          EXPECT_FALSE(decision.outcome->has_failure());
          EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::SUCCEEDED)), "nothing") << "one outcome";
          const AttemptLedger::Closed closed = ledger_->Close(*decision.outcome);
          EXPECT_EQ(closed.tell.outcome(), v1::ModelEnded::STOPPED_EARLY);
          EXPECT_EQ(closed.tell.steps(), 2);
          EXPECT_EQ(closed.tell.value(), 0.25);
          EXPECT_EQ(closed.needless_weights.size(), 1u) << "weights of models that ran to their end only are kept";
          EXPECT_FALSE(ledger_->is_open(1));
        }
      }
    }
  }
}

TEST_F(StoppingLedgerTest, TheAttemptThatReportedTheStepIsTheOneThatDecided) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  Report(1, 1, 0);
  Judge(1, 1, false);
  End(1, 1, v1::ModelEnded::LOST, v1::ModelEnded::WORKER_DOWN);
  ASSERT_TRUE(Plan(2, {{1, 2}}).ok());
  Report(1, 2, 0);
  Report(1, 2, 1);
  Judge(1, 2, true);
  EXPECT_EQ(End(1, 2, v1::ModelEnded::STOPPED_EARLY).outcome->attempt(), 2);
}

TEST_F(StoppingLedgerTest, WhatIsCanceledBeforeItsVerdictHasNoResultYet) {
  Create(3);
  for (int model = 1; model <= 3; ++model) {
    ASSERT_TRUE(Plan(model, {{model, 1}}).ok());
    Report(model, 1, 0);
  }
  Judge(3, 1, false);
  EXPECT_EQ(Text(End(1, 1, v1::ModelEnded::SUCCEEDED)), "nothing");
  // Model 1 waits for its verdict; the others end later.
  const std::vector<v1::ModelOutcome> outcomes = ledger_->Cancel();
  ASSERT_EQ(outcomes.size(), 1u);
  EXPECT_EQ(outcomes[0].model(), 1);
  EXPECT_EQ(outcomes[0].outcome(), v1::ModelEnded::CANCELED);
  EXPECT_EQ(outcomes[0].attempt(), 1);
  EXPECT_TRUE(outcomes[0].metrics().values().empty());
  const AttemptLedger::Closed closed = ledger_->Close(outcomes[0]);
  EXPECT_EQ(closed.needless_checkpoints, "") << "a resume asks for the verdict";
  EXPECT_TRUE(closed.needless_weights.empty()) << "the model may be the best after all";
  EXPECT_EQ(Text(End(2, 1, v1::ModelEnded::SUCCEEDED)), "CANCELED");
  EXPECT_EQ(Text(End(3, 1, v1::ModelEnded::SUCCEEDED)), "SUCCEEDED") << "nothing is missing";
  const AttemptLedger::Judgement late = Judge(2, 1, true);
  EXPECT_EQ(Text(late.decision), "nothing");
  EXPECT_EQ(late.stop_in_trial, 0);
}

TEST_F(StoppingLedgerTest, AVerdictOnAModelThatCannotBeRecordedIsForgotten) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  Report(1, 1, 0);
  ledger_->Drop(1);
  EXPECT_EQ(Text(Judge(1, 1, true).decision), "nothing");
}

TEST_F(LedgerTest, WithoutAStopperStepsAreCountedAndNothingWaits) {
  Create(1);
  ASSERT_TRUE(Plan(1, {{1, 1}}).ok());
  v1::ModelEvent event;
  event.set_model(1);
  event.set_attempt(1);
  for (int step = 0; step < 3; ++step) {
    event.mutable_intermediate()->set_step(step);
    (*event.mutable_intermediate()->mutable_metrics()->mutable_values())["default"] = 1;
    EXPECT_FALSE(ledger_->Note(event));
  }
  const AttemptLedger::Decision decision = End(1, 1, v1::ModelEnded::SUCCEEDED);
  ASSERT_EQ(Text(decision), "SUCCEEDED");
  EXPECT_EQ(ledger_->Close(*decision.outcome).tell.steps(), 3);
}

class LimitsLedgerTest : public LedgerTest {
 protected:
  LimitsLedgerTest() {
    v1::ExperimentConfig config;
    v1::ConstraintConfig& limit = *config.add_constraint();
    limit.set_metric("params");
    limit.set_max(100);
    config.add_objectives();
    config.add_objectives()->set_metric("params");
    config.mutable_objectives(1)->set_goal(v1::ObjectiveConfig::MINIMIZE);
    ledger_.emplace(config, /*seed=*/1, "folder");
  }

  // The next model is planned, and ends so at once. Returns what the strategy hears.
  v1::TellRequest RunOne(v1::ModelEnded::Outcome outcome, double params) {
    Create(1);
    const int model = ledger_->models();
    EXPECT_TRUE(Plan(model, {{model, 1}}).ok());
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(1);
    event.mutable_ended()->set_outcome(outcome);
    auto& metrics = *event.mutable_ended()->mutable_metrics()->mutable_values();
    metrics["params"] = params;
    if (outcome == v1::ModelEnded::SUCCEEDED) metrics["default"] = 0.5;
    const AttemptLedger::Decision decision = ledger_->EndAttempt(event);
    EXPECT_EQ(Text(decision), v1::ModelEnded::Outcome_Name(outcome));
    return ledger_->Close(*decision.outcome).tell;
  }
};

TEST_F(LimitsLedgerTest, AModelThatCostsTooMuchIsNoneOfThoseThatWereTried) {
  const v1::TellRequest tell = RunOne(v1::ModelEnded::INFEASIBLE, 150);
  EXPECT_EQ(tell.outcome(), v1::ModelEnded::INFEASIBLE);
  EXPECT_FALSE(tell.has_value());
  EXPECT_EQ(tell.objectives_size(), 0);
  EXPECT_DOUBLE_EQ(tell.violation(), 0.5);
  EXPECT_EQ(ledger_->models(), 1);
  EXPECT_EQ(ledger_->counted_models(), 0);
  EXPECT_EQ(ledger_->failed(), 0);
  EXPECT_EQ(ledger_->succeeded(), 0);
}

TEST_F(LimitsLedgerTest, TheStrategyHearsOfAllObjectivesAsTheyWere) {
  const v1::TellRequest tell = RunOne(v1::ModelEnded::SUCCEEDED, 150);
  EXPECT_EQ(tell.value(), 0.5);
  ASSERT_EQ(tell.objectives_size(), 2);
  EXPECT_EQ(tell.objectives(0), 0.5);
  EXPECT_EQ(tell.objectives(1), 150);
  EXPECT_DOUBLE_EQ(tell.violation(), 0.5);
}

TEST_F(LimitsLedgerTest, WhereNothingIsWithinTheLimitsTheNearestIsNamed) {
  EXPECT_EQ(ledger_->NothingWithinLimits(), "");
  RunOne(v1::ModelEnded::INFEASIBLE, 300);
  RunOne(v1::ModelEnded::SUCCEEDED, 120);
  RunOne(v1::ModelEnded::INFEASIBLE, 200);
  EXPECT_EQ(
      ledger_->NothingWithinLimits(),
      "none of the 3 models that were tried is within the limits; the nearest has params 120 (at most 100): relax "
      "the limits, or change the space");
  RunOne(v1::ModelEnded::SUCCEEDED, 100);
  EXPECT_EQ(ledger_->NothingWithinLimits(), "");
}

TEST_F(LimitsLedgerTest, LimitsThatTenThousandModelsBreakAreHopeless) {
  for (int i = 1; i < 10000; ++i) RunOne(v1::ModelEnded::INFEASIBLE, 150);
  EXPECT_EQ(ledger_->hopeless(), "");
  RunOne(v1::ModelEnded::INFEASIBLE, 150);
  EXPECT_EQ(
      ledger_->hopeless(),
      "the last 10000 models cost more than the limits allow; the nearest has params 150 (at most 100): relax the "
      "limits, or change the space");
}

TEST_F(LedgerTest, TheStrategyHearsOfNoValueThatIsNotFinite) {
  v1::ModelOutcome outcome;
  outcome.set_outcome(v1::ModelEnded::SUCCEEDED);
  for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    (*outcome.mutable_metrics()->mutable_values())["default"] = value;
    EXPECT_FALSE(TellOf(outcome, v1::Sample(), 1, ledger_->goals()).has_value()) << value;
  }
  (*outcome.mutable_metrics()->mutable_values())["default"] = 1e308;
  EXPECT_EQ(TellOf(outcome, v1::Sample(), 1, ledger_->goals()).value(), 1e308);
}

TEST_F(LedgerTest, WhatCannotBeRecordedIsForgotten) {
  Create(2);
  ledger_->Drop(1);
  ledger_->Drop(1);
  EXPECT_EQ(ledger_->in_flight(), 1);
  EXPECT_EQ(ledger_->failed(), 0);
}

}  // namespace
}  // namespace lanista
