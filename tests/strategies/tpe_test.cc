// TPE and its densities against their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "src/strategies/parzen.h"
#include "src/strategies/strategy.h"
#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::ChiSquareP;
using testing::Failed;
using testing::Make;
using testing::MakeBlock;
using testing::MakeChoice;
using testing::MakeHuge;
using testing::MakeSpace;
using testing::Named;
using testing::ParseStrategy;
using testing::RunAtOnce;
using testing::Succeeded;

std::vector<Space::Options> AllModels(const Space& space) {
  std::vector<Space::Options> models = {space.FirstOptions()};
  for (Space::Options next = models[0]; space.Advance(&next);) models.push_back(next);
  return models;
}

// The joint density, by the sentence that defines it.
double JointByHand(const Space& space, const std::vector<Space::Options>& seen, double prior,
                   const Space::Options& at) {
  const double b = prior / static_cast<double>(seen.size() + 1);
  double uniform = 1;
  for (int i = 0; i < space.choice_count(); ++i) uniform /= at[i] < 0 ? 1 : space.option_count(i);
  double sum = prior * uniform;
  for (const Space::Options& model : seen) {
    double kernel = 1;
    for (int i = 0; i < space.choice_count(); ++i) {
      if (at[i] < 0) continue;
      const double k = space.option_count(i);
      kernel *= model[i] < 0 ? 1 / k : (model[i] == at[i] ? (1 + b) : b) / (1 + k * b);
    }
    sum += kernel;
  }
  return sum / (static_cast<double>(seen.size()) + prior);
}

TEST(JointDensityTest, IsWhatItsDefinitionSaysAndAddsUpToOneUnderConditions) {
  const Space space = MakeBlock();
  const std::vector<Space::Options> models = AllModels(space);
  std::mt19937_64 random(1);
  // More than a block of models at last.
  for (const int count : {0, 1, 3, 40, 700}) {
    JointDensity density(space, 0.7);
    std::vector<Space::Options> seen;
    for (int i = 0; i < count; ++i) {
      seen.push_back(space.RandomOptions(random));
      density.Add(seen.back());
    }
    const std::vector<double> logs = density.Log(models);
    double total = 0;
    for (size_t i = 0; i < models.size(); ++i) {
      if (i % 50 == 0) {
        EXPECT_NEAR(std::exp(logs[i]), JointByHand(space, seen, 0.7, models[i]), 1e-12);
      }
      total += std::exp(logs[i]);
    }
    EXPECT_NEAR(total, 1, 1e-9);
  }
}

TEST(JointDensityTest, DrawsWhatItSays) {
  const Space space = MakeSpace({MakeChoice("a", 3), MakeChoice("b", 2, {{{"a", {0, 1}}}}), MakeChoice("c", 3)});
  JointDensity density(space, 1);
  density.Add({0, 1, 2});
  density.Add({2, -1, 0});
  const std::vector<Space::Options> models = AllModels(space);
  const std::vector<double> logs = density.Log(models);
  std::mt19937_64 random(2);
  std::map<Space::Options, int> drawn;
  constexpr int kDraws = 100000;
  for (int i = 0; i < kDraws; ++i) ++drawn[density.Draw(random)];
  double statistic = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    const double expected = kDraws * std::exp(logs[i]);
    statistic += (drawn[models[i]] - expected) * (drawn[models[i]] - expected) / expected;
  }
  ASSERT_EQ(models.size(), 15);
  // 14 degrees of freedom, p = 0.001.
  EXPECT_LT(statistic, 36.12);
}

TEST(JointDensityTest, NothingOverflowsInSpacesOfThousandsOfChoices) {
  std::vector<v1::Choice> choices;
  for (int i = 0; i < 3000; ++i) choices.push_back(MakeChoice(absl::StrCat("c", i), 7));
  const Space space = MakeSpace(choices);
  std::mt19937_64 random(3);
  JointDensity density(space, 1);
  for (int i = 0; i < 5; ++i) density.Add(space.RandomOptions(random));
  for (const double log : density.Log({density.Draw(random), space.RandomOptions(random)})) {
    EXPECT_TRUE(std::isfinite(log)) << log;
  }

  // More choices than a byte counts, all of them different: the uniform draw is more likely than the kernel.
  const Space smaller = MakeSpace({choices.begin(), choices.begin() + 300});
  JointDensity one(smaller, 1);
  one.Add(Space::Options(300, 0));
  EXPECT_NEAR(one.Log({Space::Options(300, 1)})[0], -300 * std::log(7) - std::log(2), 1e-6);
}

TEST(JointDensityTest, OptionsThatFitNoByteAreDifferentToo) {
  const Space space = MakeSpace({MakeChoice("a", 2), MakeChoice("b", 255, {{{"a", {1}}}}),
                                 MakeChoice("c", 256, {{{"a", {1}}}}), MakeChoice("d", 600)});
  // Options whose lowest bytes are equal, the largest ones, and choices that are not active.
  const std::vector<Space::Options> models = {{1, 254, 255, 511}, {1, 0, 0, 255},   {1, 254, 255, 255},
                                              {0, -1, -1, 511},   {0, -1, -1, 255}, {1, 254, 0, 599}};
  JointDensity density(space, 1);
  std::vector<Space::Options> seen;
  for (const Space::Options& model : models) {
    density.Add(model);
    seen.push_back(model);
    const std::vector<double> logs = density.Log(models);
    for (size_t i = 0; i < models.size(); ++i) {
      const double by_hand = JointByHand(space, seen, 1, models[i]);
      EXPECT_NEAR(std::exp(logs[i]) / by_hand, 1, 1e-9) << seen.size() << " models, at " << i;
    }
  }
  std::mt19937_64 random(5);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const Space::Options drawn = density.Draw(random);
    equal += std::find(models.begin(), models.end(), drawn) == models.end() ? 0 : 1;
  }
  EXPECT_GT(equal, 0) << "options come out of it as they went in";
}

template <typename D>
void ExpectOthersAreAsIfNeverAdded() {
  const Space space = MakeBlock();
  const std::vector<Space::Options> models = AllModels(space);
  std::mt19937_64 random(6);
  D density(space, 1);
  D expected(space, 1);
  for (int i = 0; i < 200; ++i) {
    const Space::Options model = space.RandomOptions(random);
    density.Add(model);
    if (i % 3 == 0) expected.Add(model);
  }
  for (int i = 0; i < 200; ++i) density.SetCounts(i, i % 3 == 0);
  for (int i = 0; i < 100; ++i) density.Add(space.RandomOptions(random));
  density.Truncate(210);
  density.Truncate(200);
  density.SetCounts(1, true);
  density.SetCounts(1, true);
  density.SetCounts(1, false);
  const std::vector<double> logs = density.Log(models);
  const std::vector<double> expected_logs = expected.Log(models);
  for (size_t i = 0; i < models.size(); ++i) ASSERT_NEAR(logs[i], expected_logs[i], 1e-9);
  std::mt19937_64 one(7);
  std::mt19937_64 other(7);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(density.Draw(one), expected.Draw(other));
}

TEST(DensityTest, ModelsThatDoNotCountAreAsIfNeverAdded) {
  ExpectOthersAreAsIfNeverAdded<JointDensity>();
  ExpectOthersAreAsIfNeverAdded<IndependentDensity>();
}

TEST(IndependentDensityTest, IsTheProductOfItsChoicesAndAddsUpToOne) {
  const Space space = MakeBlock();
  IndependentDensity density(space, 2);
  std::mt19937_64 random(4);
  for (int i = 0; i < 30; ++i) density.Add(space.RandomOptions(random));
  double total = 0;
  for (const double log : density.Log(AllModels(space))) total += std::exp(log);
  EXPECT_NEAR(total, 1, 1e-9);

  // By hand: of three models, two have option 0 of three; b = 2 / 4.
  const Space one = MakeSpace({MakeChoice("a", 3)});
  IndependentDensity marginal(one, 2);
  for (const int option : {0, 0, 2}) marginal.Add({option});
  const std::vector<double> logs = marginal.Log({{0}, {1}, {2}});
  EXPECT_NEAR(std::exp(logs[0]), (2 * 1.5 / 2.5 + 1 * 0.5 / 2.5 + 2.0 / 3) / 5, 1e-12);
  EXPECT_NEAR(std::exp(logs[1]), (3 * 0.5 / 2.5 + 2.0 / 3) / 5, 1e-12);
  EXPECT_NEAR(std::exp(logs[2]), (1 * 1.5 / 2.5 + 2 * 0.5 / 2.5 + 2.0 / 3) / 5, 1e-12);
  std::vector<int> counts(3, 0);
  for (int i = 0; i < 100000; ++i) ++counts[marginal.Draw(random)[0]];
  double statistic = 0;
  for (int option = 0; option < 3; ++option) {
    const double expected = 100000 * std::exp(logs[option]);
    statistic += (counts[option] - expected) * (counts[option] - expected) / expected;
  }
  // 2 degrees of freedom, p = 0.001.
  EXPECT_LT(statistic, 13.82);
}

TEST(TpeTest, OneStepByHand) {
  // Ten models of 6 x 6 are known; gamma = 0.1: the first alone is good. One runs, and counts as bad.
  const Space space = MakeSpace({MakeChoice("a", 6), MakeChoice("b", 6)});
  const std::vector<Space::Options> known = {{2, 3}, {0, 0}, {1, 1}, {3, 5}, {4, 3},
                                             {5, 5}, {0, 5}, {5, 0}, {1, 4}, {4, 1}};
  const Space::Options running = {2, 4};
  const std::vector<Space::Options> good = {known[0]};
  std::vector<Space::Options> bad(known.begin() + 1, known.end());
  bad.push_back(running);
  double best = -std::numeric_limits<double>::infinity();
  Space::Options expected;
  for (const Space::Options& model : AllModels(space)) {
    if (model == running || std::find(known.begin(), known.end(), model) != known.end()) continue;
    const double ratio = std::log(JointByHand(space, good, 1, model)) - std::log(JointByHand(space, bad, 1, model));
    if (ratio <= best) continue;
    best = ratio;
    expected = model;
  }
  // So many candidates that every model is among them.
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto strategy = Make(ParseStrategy("tpe { candidates: 3000 }"), space, seed);
    for (size_t i = 0; i < known.size(); ++i) {
      strategy->Tell(space.ToSample(known[i]), Succeeded(10 - static_cast<double>(i)));
    }
    strategy->Expect(space.ToSample(running));
    EXPECT_EQ(*space.OptionsOf(strategy->Ask(1)->samples[0]), expected);
  }
}

TEST(TpeTest, ModelsThatRunKeepOthersAway) {
  const Space space = MakeHuge();
  const auto strategy = Make(ParseStrategy("tpe { startup: 5 }"), space);
  std::mt19937_64 random(1);
  for (int i = 0; i < 20; ++i) strategy->Tell(space.Random(random), Succeeded(i));
  const auto proposal = strategy->Ask(50);
  ASSERT_EQ(proposal->samples.size(), 50);
  std::map<std::string, int> keys;
  for (const v1::Sample& sample : proposal->samples) ++keys[Space::Key(sample)];
  EXPECT_EQ(keys.size(), 50);
}

TEST(TpeTest, ModelsThatFailAreIgnoredOrBad) {
  const Space space = MakeSpace({MakeChoice("a", 4), MakeChoice("b", 40)});
  // How many of 50 proposals have option 3 of `a`, as the only model that succeeded has, and all that failed.
  const auto threes = [&](const std::string& on_failure) {
    const auto strategy = Make(
        ParseStrategy(absl::StrCat("tpe { startup: 1 dedup: false good_fraction: 0.02 ", on_failure, " }")), space);
    strategy->Tell(space.ToSample({3, 0}), Succeeded(1));
    for (int i = 1; i < 40; ++i) strategy->Tell(space.ToSample({3, i}), Failed());
    int count = 0;
    for (int i = 0; i < 50; ++i) {
      const v1::Sample sample = strategy->Ask(1)->samples[0];
      count += sample.decisions(0).index(0) == 3;
      Observation canceled;
      canceled.outcome = v1::ModelEnded::CANCELED;
      strategy->Tell(sample, canceled);
    }
    return count;
  };
  EXPECT_EQ(threes(""), 50);
  EXPECT_LT(threes("on_failure: WORST"), 5);
}

TEST(TpeTest, StartsAtRandomAndLearnsAfterwards) {
  const Space space = MakeHuge();
  for (const std::string config : {"tpe {}", "tpe { multivariate: false }"}) {
    const std::vector<v1::Sample> samples = RunAtOnce(Make(ParseStrategy(config), space).get(), 8, 200, 1);
    const auto mean = [&](size_t first, size_t end) {
      double sum = 0;
      for (size_t i = first; i < end; ++i) sum += *testing::Score(samples[i]).value;
      return sum / static_cast<double>(end - first);
    };
    // 30 choices from 0 to 9: 135 on average.
    EXPECT_NEAR(mean(0, 10), 135, 30) << config;
    EXPECT_GT(mean(150, 200), 155) << config;
  }
}

}  // namespace
}  // namespace lanista
