// The policy's gradients against finite differences, PPO's clip, and what a converged policy does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "src/strategies/policy.h"
#include "src/strategies/strategy.h"
#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::ChiSquareP;
using testing::Keys;
using testing::Make;
using testing::MakeBlock;
using testing::MakeChoice;
using testing::MakeHuge;
using testing::MakeSpace;
using testing::ParseStrategy;
using testing::RunAtOnce;
using testing::RunSearch;

TEST(PolicyTest, ProbabilitiesAddUpToOneUnderConditions) {
  const Space space = MakeBlock();
  Policy policy(space);
  std::mt19937_64 random(1);
  for (double& logit : policy.logits()) logit = 4 * UniformReal(random) - 2;
  double total = 0;
  Space::Options model = space.FirstOptions();
  do {
    total += std::exp(policy.LogProbability(model));
  } while (space.Advance(&model));
  EXPECT_NEAR(total, 1, 1e-9);
}

TEST(PolicyTest, DrawsWhatItSays) {
  const Space space = MakeSpace({MakeChoice("a", 3), MakeChoice("b", 4, {{{"a", {0, 1}}}})});
  Policy policy(space);
  std::mt19937_64 random(2);
  for (double& logit : policy.logits()) logit = 2 * UniformReal(random);
  std::map<Space::Options, int> drawn;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++drawn[policy.Draw(random)];
  ASSERT_EQ(drawn.size(), 9);
  double statistic = 0;
  for (const auto& [model, count] : drawn) {
    const double expected = kDraws * std::exp(policy.LogProbability(model));
    statistic += (count - expected) * (count - expected) / expected;
  }
  // 8 degrees of freedom, p = 0.001.
  EXPECT_LT(statistic, 26.12);
}

TEST(PolicyTest, AtFirstEveryModelOfASpaceWithoutConditionsIsAsLikely) {
  const Space space = MakeSpace({MakeChoice("a", 4), MakeChoice("b", 5)});
  const Policy policy(space);
  std::mt19937_64 random(7);
  std::map<Space::Options, int> drawn;
  for (int i = 0; i < 100000; ++i) ++drawn[policy.Draw(random)];
  std::vector<int> counts;
  for (const auto& entry : drawn) counts.push_back(entry.second);
  ASSERT_EQ(counts.size(), 20);
  EXPECT_GT(ChiSquareP(counts), 0.001);
}

TEST(PolicyTest, GradientsAreThoseOfFiniteDifferences) {
  const Space space = MakeBlock();
  Policy policy(space);
  std::mt19937_64 random(3);
  for (double& logit : policy.logits()) logit = 2 * UniformReal(random) - 1;
  std::vector<Policy::Lesson> lessons;
  for (int i = 0; i < 12; ++i) {
    const Space::Options model = policy.Draw(random);
    // Ratios on both sides of both clips, and none so near to one that a difference would cross it.
    const double ratio = 0.6 + 0.07 * i;
    lessons.push_back({model, policy.LogProbability(model) - std::log(ratio), 3 * UniformReal(random) - 1.5});
  }
  for (const double entropy_weight : {0.0, 0.3}) {
    std::vector<double> gradient, ignored;
    policy.Objective(lessons, 0.2, entropy_weight, &gradient);
    ASSERT_EQ(gradient.size(), policy.logits().size());
    for (size_t i = 0; i < gradient.size(); ++i) {
      constexpr double kStep = 1e-6;
      const double logit = policy.logits()[i];
      policy.logits()[i] = logit + kStep;
      const double above = policy.Objective(lessons, 0.2, entropy_weight, &ignored);
      policy.logits()[i] = logit - kStep;
      const double below = policy.Objective(lessons, 0.2, entropy_weight, &ignored);
      policy.logits()[i] = logit;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 1e-7) << "logit " << i;
    }
  }
}

TEST(PolicyTest, TheClipStopsWhereTheProbabilityHasMovedFarEnough) {
  const Space space = MakeSpace({MakeChoice("a", 2)});
  Policy policy(space);
  const Space::Options model = {0};
  // Objective and slope of one lesson by its ratio and its advantage, with a clip of 0.2.
  const auto lesson = [&](double ratio, double advantage) {
    std::vector<double> gradient;
    const double objective =
        policy.Objective({{model, policy.LogProbability(model) - std::log(ratio), advantage}}, 0.2, 0, &gradient);
    return std::make_pair(objective, gradient[0]);
  };
  // d ratio / d logit = ratio (1 - p) = ratio / 2.
  EXPECT_NEAR(lesson(1.0, 2).first, 2, 1e-12);
  EXPECT_NEAR(lesson(1.0, 2).second, 1, 1e-12);
  EXPECT_NEAR(lesson(1.5, 2).first, 2.4, 1e-12);
  EXPECT_EQ(lesson(1.5, 2).second, 0);
  EXPECT_NEAR(lesson(0.5, 2).first, 1, 1e-12);
  EXPECT_NEAR(lesson(0.5, 2).second, 0.5, 1e-12);
  EXPECT_NEAR(lesson(0.5, -2).first, -1.6, 1e-12);
  EXPECT_EQ(lesson(0.5, -2).second, 0);
  EXPECT_NEAR(lesson(1.5, -2).first, -3, 1e-12);
  EXPECT_NEAR(lesson(1.5, -2).second, -1.5, 1e-12);
}

TEST(AdamAscentTest, TakesTheStepsOfThePaper) {
  AdamAscent adam(1, 0.1);
  std::vector<double> values = {0};
  adam.Step({4}, &values);
  // The first step is the rate, in the gradient's direction.
  EXPECT_NEAR(values[0], 0.1, 1e-8);
  adam.Step({-2}, &values);
  const double mean = (0.9 * 0.1 * 4 + 0.1 * -2) / (1 - 0.81);
  const double square = (0.999 * 0.001 * 16 + 0.001 * 4) / (1 - 0.999 * 0.999);
  EXPECT_NEAR(values[0], 0.1 + 0.1 * mean / std::sqrt(square), 1e-8);
}

TEST(PolicyRlTest, LearnsWhichOptionsAreGood) {
  const Space space = MakeHuge();
  const std::vector<v1::Sample> samples =
      RunAtOnce(Make(ParseStrategy("policy_rl { learning_rate: 0.1 }"), space).get(), 8, 1000, 1);
  double first = 0, last = 0;
  for (size_t i = 0; i < 100; ++i) {
    first += *testing::Score(samples[i]).value / 100;
    last += *testing::Score(samples[samples.size() - 1 - i]).value / 100;
  }
  EXPECT_NEAR(first, 135, 15);
  EXPECT_GT(last, 200);
}

TEST(PolicyRlTest, AConvergedPolicyStillFindsEveryModelOfAFiniteSpaceOnce) {
  const Space space = MakeBlock();
  const auto strategy = Make(ParseStrategy("policy_rl { learning_rate: 1 entropy_weight: 0 }"), space);
  const std::vector<std::string> keys = Keys(RunAtOnce(strategy.get(), 8, 100000, 3));
  EXPECT_EQ(*space.size(), keys.size());
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), keys.size());
}

TEST(PolicyRlTest, EqualValuesTeachNothing) {
  // Every model is as good: the policy stays even, so its draws are.
  const Space space = MakeSpace({MakeChoice("a", 4)});
  const auto strategy = Make(ParseStrategy("policy_rl { dedup: false learning_rate: 0.5 entropy_weight: 0 }"), space);
  std::vector<int> counts(4, 0);
  for (const v1::Sample& sample :
       RunSearch(strategy.get(), 8, 20000, [](const v1::Sample&) { return testing::Succeeded(1); })) {
    ++counts[sample.decisions(0).index(0)];
  }
  EXPECT_GT(ChiSquareP(counts), 0.001);
}

TEST(PolicyRlTest, ASpaceWithTooManyOptionsIsRefused) {
  std::vector<v1::Choice> choices;
  v1::Choice choice = MakeChoice("inputs", 40);
  choice.set_kind(v1::Choice::INPUT_CHOICE);
  choice.set_n_chosen(8);
  const Space space = MakeSpace({choice});
  const auto strategy = StrategyRegistry::Get().Create(ParseStrategy("policy_rl {}"), StrategyContext(space, 1));
  EXPECT_TRUE(absl::IsFailedPrecondition(strategy.status())) << strategy.status();
}

}  // namespace
}  // namespace lanista
