#include "actors/experiment_end.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace lanista {
namespace {

class ExperimentEndTest : public ::testing::Test {
 protected:
  // The next model, with so many parameters, ends so at once.
  void RunOne(v1::ModelEnded::Outcome outcome, double params = 1) {
    ledger_->Create(v1::Sample());
    const int model = ledger_->models();
    v1::TrialQueued queued;
    queued.set_trial(model);
    queued.set_alone_because("no others came");
    v1::TrialMember& member = *queued.add_members();
    member.set_model(model);
    member.set_attempt(1);
    ASSERT_TRUE(ledger_->Plan(queued).ok());
    v1::ModelEvent event;
    event.set_model(model);
    event.set_attempt(1);
    v1::ModelEnded& ended = *event.mutable_ended();
    ended.set_outcome(outcome);
    auto& metrics = *ended.mutable_metrics()->mutable_values();
    metrics["params"] = params;
    if (outcome == v1::ModelEnded::SUCCEEDED) metrics["default"] = 0.5;
    if (outcome == v1::ModelEnded::FAILED) {
      ended.mutable_failure()->set_reason(v1::Failure::EXCEPTION);
      ended.mutable_failure()->set_message("boom");
    }
    const AttemptLedger::Decision decision = ledger_->EndAttempt(event);
    ASSERT_TRUE(decision.outcome.has_value());
    ledger_->Close(*decision.outcome);
  }

  // "DONE: the space is exhausted".
  std::string End(bool limit) const {
    const ExperimentEnd end = EndOf(*ledger_, limit);
    return absl::StrCat(v1::ExperimentState::State_Name(end.state), ": ", end.reason);
  }

  std::optional<AttemptLedger> ledger_ = AttemptLedger(v1::ExperimentConfig(), /*seed=*/1, "folder");
};

TEST_F(ExperimentEndTest, SaysWhetherTheLimitOrTheSpaceIsReached) {
  RunOne(v1::ModelEnded::SUCCEEDED);
  RunOne(v1::ModelEnded::FAILED);
  EXPECT_EQ(End(/*limit=*/false), "DONE: the space is exhausted");
  EXPECT_EQ(End(/*limit=*/true), "DONE: max_trial_number: 2 models");
}

TEST_F(ExperimentEndTest, AnExperimentOfWhichNoModelSucceededHasFailed) {
  RunOne(v1::ModelEnded::FAILED);
  RunOne(v1::ModelEnded::FAILED);
  for (const bool limit : {false, true}) {
    EXPECT_EQ(End(limit), "FAILED: no model succeeded, 2 failed; the first: boom");
  }
}

TEST_F(ExperimentEndTest, WhereNothingIsWithinTheLimitsASpaceThatIsExhaustedHasFailed) {
  v1::ExperimentConfig config;
  v1::ConstraintConfig& limit = *config.add_constraint();
  limit.set_metric("params");
  limit.set_max(100);
  ledger_.emplace(config, /*seed=*/1, "folder");
  RunOne(v1::ModelEnded::SUCCEEDED, 120);
  const std::string nothing = ledger_->NothingWithinLimits();
  ASSERT_NE(nothing, "");
  EXPECT_EQ(End(/*limit=*/false), absl::StrCat("FAILED: ", nothing));
  EXPECT_EQ(End(/*limit=*/true), absl::StrCat("DONE: max_trial_number: 1 model; ", nothing));
  RunOne(v1::ModelEnded::SUCCEEDED, 100);
  EXPECT_EQ(End(/*limit=*/false), "DONE: no other model within the limits was found in the space");
}

}  // namespace
}  // namespace lanista
