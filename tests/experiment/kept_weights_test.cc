#include "src/experiment/kept_weights.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "src/goals/goals.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

v1::ModelOutcome Outcome(int model, int attempt, v1::ModelEnded::Outcome outcome, double value = 0) {
  v1::ModelOutcome message;
  message.set_model(model);
  message.set_attempt(attempt);
  message.set_outcome(outcome);
  if (outcome == v1::ModelEnded::SUCCEEDED) (*message.mutable_metrics()->mutable_values())["default"] = value;
  return message;
}

Goals LargerIsBetter() { return Goals(v1::ExperimentConfig()); }

// What may go when the model succeeds at its first attempt.
std::vector<std::string> Succeed(KeptWeights& kept, int model, double value) {
  kept.Plan(model, 1, absl::StrCat(model));
  return kept.End(Outcome(model, 1, v1::ModelEnded::SUCCEEDED, value)).needless;
}

TEST(KeptWeights, DropsTheWorstOnceThereAreMoreThanWanted) {
  KeptWeights kept(2, LargerIsBetter());
  EXPECT_THAT(Succeed(kept, 1, 0.5), IsEmpty());
  EXPECT_THAT(Succeed(kept, 2, 0.7), IsEmpty());
  EXPECT_THAT(Succeed(kept, 3, 0.6), ElementsAre("1"));
  EXPECT_THAT(Succeed(kept, 4, 0.1), ElementsAre("4")) << "its own";
  EXPECT_THAT(Succeed(kept, 5, 0.9), ElementsAre("3"));
}

TEST(KeptWeights, SaysWhereWeightsAreKeptAndWhoseTheyReplace) {
  KeptWeights kept(1, LargerIsBetter());
  const auto succeed = [&kept](int model, double value) {
    kept.Plan(model, 1, absl::StrCat("folder of ", model));
    return kept.End(Outcome(model, 1, v1::ModelEnded::SUCCEEDED, value)).kept;
  };
  const std::optional<v1::WeightsKept> first = succeed(1, 0.5);
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->folder(), "folder of 1");
  EXPECT_EQ(first->instead_of(), 0) << "there was room";
  EXPECT_FALSE(succeed(2, 0.4).has_value());
  const std::optional<v1::WeightsKept> better = succeed(3, 0.6);
  ASSERT_TRUE(better.has_value());
  EXPECT_EQ(better->folder(), "folder of 3");
  EXPECT_EQ(better->instead_of(), 1);
  kept.Plan(4, 1, "folder of 4");
  EXPECT_FALSE(kept.End(Outcome(4, 1, v1::ModelEnded::FAILED)).kept.has_value());
}

TEST(KeptWeights, AModelThatLeftNoneTakesNoPlace) {
  KeptWeights kept(1, LargerIsBetter());
  EXPECT_THAT(Succeed(kept, 1, 0.5), IsEmpty());
  kept.Plan(2, 1, "2");
  const KeptWeights::Ending ending = kept.End(Outcome(2, 1, v1::ModelEnded::SUCCEEDED, 0.9), /*left=*/false);
  EXPECT_FALSE(ending.kept.has_value());
  EXPECT_THAT(ending.needless, ElementsAre("2"));
  EXPECT_TRUE(kept.Needs("1"));
}

TEST(KeptWeights, TakesTheSmallestWhereThatIsBetter) {
  v1::ExperimentConfig config;
  config.set_objective(v1::ObjectiveConfig::MINIMIZE);
  KeptWeights kept(1, Goals(config));
  EXPECT_THAT(Succeed(kept, 1, 0.5), IsEmpty());
  EXPECT_THAT(Succeed(kept, 2, 0.7), ElementsAre("2"));
  EXPECT_THAT(Succeed(kept, 3, 0.1), ElementsAre("1"));
}

TEST(KeptWeights, KeepsThoseThatNoOtherBeatsBeforeOthers) {
  v1::ExperimentConfig config;
  config.add_objectives();
  config.add_objectives()->set_metric("flops");
  config.mutable_objectives(1)->set_goal(v1::ObjectiveConfig::MINIMIZE);
  KeptWeights kept(2, Goals(config));
  const auto succeed = [&kept](int model, double value, double flops) {
    v1::ModelOutcome outcome = Outcome(model, 1, v1::ModelEnded::SUCCEEDED, value);
    (*outcome.mutable_metrics()->mutable_values())["flops"] = flops;
    kept.Plan(model, 1, absl::StrCat(model));
    return kept.End(outcome).needless;
  };
  EXPECT_THAT(succeed(1, 0.9, 50), IsEmpty());
  EXPECT_THAT(succeed(2, 0.8, 60), IsEmpty());
  EXPECT_THAT(succeed(3, 0.1, 10), ElementsAre("2")) << "model 1 beats it, and nothing beats model 3";
}

TEST(KeptWeights, KeepsNothingOfAModelThatBreaksALimit) {
  v1::ExperimentConfig config;
  config.add_constraint()->set_metric("default");
  config.mutable_constraint(0)->set_max(0.5);
  KeptWeights kept(2, Goals(config));
  EXPECT_THAT(Succeed(kept, 1, 0.6), ElementsAre("1"));
  EXPECT_THAT(Succeed(kept, 2, 0.5), IsEmpty());
}

TEST(KeptWeights, KeepsTheEarlierOfEqualModels) {
  KeptWeights kept(1, LargerIsBetter());
  EXPECT_THAT(Succeed(kept, 1, 0.5), IsEmpty());
  EXPECT_THAT(Succeed(kept, 2, 0.5), ElementsAre("2"));
}

TEST(KeptWeights, KeepsOnlyWhatTheDecidingAttemptLeft) {
  KeptWeights kept(1, LargerIsBetter());
  kept.Plan(1, 1, "first");
  kept.Plan(1, 2, "second");
  kept.Plan(2, 1, "of another");
  EXPECT_THAT(kept.End(Outcome(1, 2, v1::ModelEnded::SUCCEEDED, 0.5)).needless, ElementsAre("first"));
  EXPECT_THAT(kept.End(Outcome(2, 1, v1::ModelEnded::SUCCEEDED, 0.6)).needless, ElementsAre("second"));
}

TEST(KeptWeights, KeepsNothingOfAModelThatDidNotSucceed) {
  KeptWeights kept(2, LargerIsBetter());
  kept.Plan(1, 1, "1");
  kept.Plan(1, 2, "2");
  EXPECT_THAT(kept.End(Outcome(1, 2, v1::ModelEnded::FAILED)).needless, ElementsAre("1", "2"));
  kept.Plan(2, 1, "3");
  EXPECT_THAT(kept.End(Outcome(2, 0, v1::ModelEnded::CANCELED)).needless, ElementsAre("3"));
}

TEST(KeptWeights, TheBarIsTheWorstThatIsKeptAndOnlyRises) {
  KeptWeights kept(2, LargerIsBetter());
  EXPECT_FALSE(kept.Bar().has_value());
  Succeed(kept, 1, 0.5);
  EXPECT_FALSE(kept.Bar().has_value()) << "there is room";
  Succeed(kept, 2, 0.7);
  ASSERT_TRUE(kept.Bar().has_value());
  EXPECT_EQ(kept.Bar()->metric(), "default");
  EXPECT_EQ(kept.Bar()->goal(), v1::ObjectiveConfig::MAXIMIZE);
  EXPECT_EQ(kept.Bar()->value(), 0.5);
  Succeed(kept, 3, 0.1);
  EXPECT_EQ(kept.Bar()->value(), 0.5);
  Succeed(kept, 4, 0.6);
  EXPECT_EQ(kept.Bar()->value(), 0.6);
  kept.Plan(5, 1, "5");
  kept.End(Outcome(5, 1, v1::ModelEnded::FAILED));
  EXPECT_EQ(kept.Bar()->value(), 0.6);
}

TEST(KeptWeights, TheBarIsOfTheObjective) {
  v1::ExperimentConfig config;
  config.add_objectives()->set_metric("loss");
  config.mutable_objectives(0)->set_goal(v1::ObjectiveConfig::MINIMIZE);
  KeptWeights kept(1, Goals(config));
  v1::ModelOutcome outcome = Outcome(1, 1, v1::ModelEnded::SUCCEEDED, 0.9);
  (*outcome.mutable_metrics()->mutable_values())["loss"] = 3;
  kept.Plan(1, 1, "1");
  kept.End(outcome);
  ASSERT_TRUE(kept.Bar().has_value());
  EXPECT_EQ(kept.Bar()->metric(), "loss");
  EXPECT_EQ(kept.Bar()->goal(), v1::ObjectiveConfig::MINIMIZE);
  EXPECT_EQ(kept.Bar()->value(), 3);
}

TEST(KeptWeights, WithSeveralObjectivesThereIsNoBar) {
  v1::ExperimentConfig config;
  config.add_objectives();
  config.add_objectives()->set_metric("flops");
  KeptWeights kept(1, Goals(config));
  v1::ModelOutcome outcome = Outcome(1, 1, v1::ModelEnded::SUCCEEDED, 0.9);
  (*outcome.mutable_metrics()->mutable_values())["flops"] = 3;
  kept.Plan(1, 1, "1");
  kept.End(outcome);
  EXPECT_FALSE(kept.Bar().has_value());
}

TEST(KeptWeights, AModelThatWasNeverTriedLeavesNothing) {
  KeptWeights kept(1, LargerIsBetter());
  EXPECT_THAT(kept.End(Outcome(1, 0, v1::ModelEnded::CANCELED)).needless, IsEmpty());
}

}  // namespace
}  // namespace lanista
