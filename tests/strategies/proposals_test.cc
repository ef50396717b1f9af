#include "src/strategies/proposals.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::ChiSquareP;
using testing::MakeBlock;
using testing::MakeChoice;
using testing::MakeQuickStart;
using testing::MakeSpace;

TEST(ProposalsTest, TakesEachModelOnce) {
  const Space space = MakeQuickStart();
  Proposals proposals(StrategyContext(space, 1), true);
  EXPECT_TRUE(proposals.Take({0, 1, 2}));
  EXPECT_FALSE(proposals.Take({0, 1, 2}));
  proposals.Expect({1, 1, 1});
  EXPECT_FALSE(proposals.Take({1, 1, 1}));
  EXPECT_EQ(proposals.running(), (std::vector<Space::Options>{{0, 1, 2}, {1, 1, 1}}));
  EXPECT_TRUE(proposals.Told({0, 1, 2}));
  EXPECT_FALSE(proposals.Told({0, 0, 0})) << "it comes from elsewhere";
  EXPECT_FALSE(proposals.Take({0, 0, 0}));
  EXPECT_EQ(proposals.running(), (std::vector<Space::Options>{{1, 1, 1}}));
}

TEST(ProposalsTest, WithoutDedupAModelMayRunSeveralTimes) {
  const Space space = MakeQuickStart();
  Proposals proposals(StrategyContext(space, 1), false);
  EXPECT_TRUE(proposals.Take({0, 1, 2}));
  EXPECT_TRUE(proposals.Take({0, 1, 2}));
  EXPECT_TRUE(proposals.Told({0, 1, 2}));
  EXPECT_EQ(proposals.running().size(), 1);
}

TEST(ProposalsTest, OptionsOfAnySizeAreToldApart) {
  const Space space = MakeSpace({MakeChoice("a", 40000), MakeChoice("b", 300)});
  Proposals proposals(StrategyContext(space, 1), true);
  for (const int32_t a : {0, 1, 127, 128, 129, 16383, 16384, 39999}) {
    for (const int32_t b : {0, 1, 2, 127, 128, 255, 256}) EXPECT_TRUE(proposals.Take({a, b})) << a << " " << b;
  }
}

TEST(ProposalsTest, DrawsAreEven) {
  const Space space = MakeSpace({MakeChoice("a", 5), MakeChoice("b", 4)});
  Proposals proposals(StrategyContext(space, 8), false);
  std::map<Space::Options, int> drawn;
  for (int i = 0; i < 100000; ++i) {
    const auto model = proposals.Draw();
    ++drawn[**model];
    proposals.Told(**model);
  }
  std::vector<int> counts;
  for (const auto& entry : drawn) counts.push_back(entry.second);
  ASSERT_EQ(counts.size(), 20);
  EXPECT_GT(ChiSquareP(counts), 0.001);
}

TEST(ProposalsTest, LimitsAreTestedOncePerModelAndTheEndIsFound) {
  const Space space = MakeBlock();
  StrategyContext context(space, 1);
  std::map<std::string, int> tested;
  // One model of the whole space is within the limits.
  context.violation = [&](const v1::Sample& sample) {
    ++tested[Space::Key(sample)];
    const auto options = *space.OptionsOf(sample);
    return options[0] == 0 && options[1] == 2 && options[6] == 1 ? 0.0 : 1.5;
  };
  Proposals proposals(context, true);
  std::set<Space::Options> found;
  while (true) {
    const auto model = proposals.Draw();
    ASSERT_TRUE(model.ok()) << model.status();
    if (!model->has_value()) break;
    EXPECT_TRUE(found.insert(**model).second);
  }
  EXPECT_EQ(found.size(), 1);
  EXPECT_TRUE(proposals.exhausted());
  for (const auto& [key, times] : tested) EXPECT_EQ(times, 1) << key;
  EXPECT_EQ(*space.size(), tested.size());
}

}  // namespace
}  // namespace lanista
