#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "src/strategies/strategy.h"
#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using testing::Keys;
using testing::Make;
using testing::MakeHuge;
using testing::MakeQuickStart;
using testing::ParseStrategy;
using testing::RunAtOnce;
using testing::RunSearch;

TEST(ChainTest, StagesComeInTurnAlsoWithinOneAsk) {
  const Space space = MakeQuickStart();
  const auto strategy =
      Make(ParseStrategy(
               "chain { stage { models: 2 strategy { grid_search {} } } stage { models: 3 strategy { random {} } } }"),
           space);
  const auto proposal = strategy->Ask(4);
  ASSERT_EQ(proposal->samples.size(), 4);
  EXPECT_EQ(Space::Key(proposal->samples[0]), Space::Key(space.Unrank(0)));
  EXPECT_EQ(Space::Key(proposal->samples[1]), Space::Key(space.Unrank(1)));
  EXPECT_FALSE(proposal->exhausted);
  const auto rest = strategy->Ask(4);
  EXPECT_EQ(rest->samples.size(), 1);
  EXPECT_TRUE(rest->exhausted) << "the last stage has a limit";
}

TEST(ChainTest, NoStageRepeatsWhatAnotherHasProposed) {
  const Space space = MakeQuickStart();
  const auto strategy = Make(ParseStrategy("chain { stage { models: 6 strategy { random {} } } "
                                           "stage { models: 4 strategy { grid_search {} } } "
                                           "stage { models: 3 strategy { tpe { startup: 2 } } } "
                                           "stage { strategy { policy_rl {} } } }"),
                             space);
  // None is told before the space is exhausted.
  const auto proposal = strategy->Ask(100);
  const std::vector<std::string> keys = Keys(proposal->samples);
  EXPECT_EQ(keys.size(), 18);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 18);
}

TEST(ChainTest, AStageThatHasNothingLeftIsPassedOver) {
  const Space space = MakeQuickStart();
  const auto strategy = Make(ParseStrategy("chain { stage { models: 100 strategy { grid_search {} } } "
                                           "stage { models: 7 strategy { random { dedup: false } } } }"),
                             space);
  EXPECT_EQ(RunSearch(strategy.get(), 5, 1000).size(), 18 + 7);
}

TEST(ChainTest, LaterStagesLearnFromEarlierOnes) {
  const Space space = MakeHuge();
  const auto strategy = Make(ParseStrategy("chain { stage { models: 50 strategy { random {} } } "
                                           "stage { strategy { evolution { population: 50 sample: 200 } } } }"),
                             space);
  const std::vector<v1::Sample> first = RunSearch(strategy.get(), 10, 50);
  double best = 0;
  for (const v1::Sample& sample : first) best = std::max(best, *testing::Score(sample).value);
  // One mutation of the best changes its score by at most 9.
  EXPECT_NEAR(*testing::Score(strategy->Ask(1)->samples[0]).value, best, 9);
}

TEST(ChainTest, ChainsMayHoldChains) {
  const Space space = MakeQuickStart();
  const auto strategy =
      Make(ParseStrategy("chain { stage { models: 4 strategy { chain { "
                         "stage { models: 1 strategy { random {} } } stage { strategy { tpe {} } } } } } "
                         "stage { strategy { nsga2 {} } } }"),
           space);
  const std::vector<std::string> keys = Keys(RunAtOnce(strategy.get(), 4, 1000, 1));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 18);
}

TEST(ChainTest, ErrorsOfStagesNameThem) {
  const Space space = MakeQuickStart();
  StrategyContext context(space, 1);
  context.objectives = 2;
  const auto strategy = StrategyRegistry::Get().Create(
      ParseStrategy("chain { stage { models: 1 strategy { random {} } } stage { strategy { tpe {} } } }"), context);
  EXPECT_THAT(std::string(strategy.status().message()), HasSubstr("chain.stage[1].strategy: tpe learns from one"));
}

}  // namespace
}  // namespace lanista
