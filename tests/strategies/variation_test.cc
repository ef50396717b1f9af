#include "src/strategies/variation.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::ChiSquareP;
using testing::MakeBlock;
using testing::MakeChoice;
using testing::MakeSpace;

// Choices of `parent` that are active in the child, too, with another option.
int CountChanged(const Space::Options& parent, const Space::Options& child) {
  int changed = 0;
  for (size_t i = 0; i < parent.size(); ++i) changed += parent[i] >= 0 && child[i] >= 0 && parent[i] != child[i];
  return changed;
}

TEST(MutateTest, ChangesExactlySoManyActiveChoicesUnderConditions) {
  const Space space = MakeBlock();
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    const Space::Options parent = space.RandomOptions(random);
    const int mutations = 1 + static_cast<int>(Uniform(random, 3));
    const Space::Options child = Mutate(space, parent, mutations, random);
    ASSERT_TRUE(space.Check(space.ToSample(child)).ok());
    ASSERT_EQ(CountChanged(parent, child), mutations);
  }
}

TEST(MutateTest, WhereThereAreFewerChoicesAllOfThemChange) {
  const Space space = MakeSpace({MakeChoice("a", 2), MakeChoice("only", 1), MakeChoice("b", 3)});
  std::mt19937_64 random(1);
  const Space::Options parent = {0, 0, 1};
  EXPECT_EQ(CountChanged(parent, Mutate(space, parent, 5, random)), 2);
  EXPECT_EQ(Mutate(MakeSpace({}), {}, 1, random), Space::Options{});
}

TEST(MutateTest, EveryChoiceAndEveryOtherOptionIsAsLikely) {
  const Space space = MakeSpace({MakeChoice("a", 5), MakeChoice("b", 5), MakeChoice("c", 5), MakeChoice("d", 5)});
  std::mt19937_64 random(3);
  const Space::Options parent = {0, 2, 4, 1};
  std::map<Space::Options, int> children;
  for (int i = 0; i < 100000; ++i) ++children[Mutate(space, parent, 1, random)];
  ASSERT_EQ(children.size(), 16);
  std::vector<int> counts;
  for (const auto& entry : children) counts.push_back(entry.second);
  EXPECT_GT(ChiSquareP(counts), 0.001);
}

TEST(MutateTest, WhatBecomesActiveIsDrawnEvenly) {
  const Space space = MakeSpace({MakeChoice("a", 2), MakeChoice("b", 10, {{{"a", {1}}}})});
  std::mt19937_64 random(4);
  std::vector<int> counts(10, 0);
  for (int i = 0; i < 100000; ++i) ++counts[Mutate(space, {0, -1}, 1, random)[1]];
  EXPECT_GT(ChiSquareP(counts), 0.001);
  EXPECT_EQ(space.With({1, 7}, 0, 0, random), (Space::Options{0, -1}));
}

TEST(MutateEachTest, ChangesEachChoiceWithTheProbability) {
  std::vector<v1::Choice> choices;
  for (int i = 0; i < 10; ++i) choices.push_back(MakeChoice(absl::StrCat("c", i), 4));
  const Space space = MakeSpace(choices);
  std::mt19937_64 random(5);
  const Space::Options parent(10, 2);
  int changed = 0;
  for (int i = 0; i < 10000; ++i) changed += CountChanged(parent, MutateEach(space, parent, 0.1, random));
  // 100,000 times a probability of 0.1: four deviations are 380.
  EXPECT_NEAR(changed, 10000, 380);
}

TEST(CrossoverTest, TakesEachChoiceFromAParentThatHasItAndRespectsConditions) {
  const Space space = MakeBlock();
  std::mt19937_64 random(6);
  std::vector<int> from_a(2, 0);
  for (int round = 0; round < 40000; ++round) {
    const Space::Options a = space.RandomOptions(random);
    const Space::Options b = space.RandomOptions(random);
    const Space::Options child = Crossover(space, a, b, random);
    if (round < 10000) {
      ASSERT_TRUE(space.Check(space.ToSample(child)).ok());
    }
    for (size_t i = 0; i < child.size(); ++i) {
      const bool inherited = child[i] == a[i] || child[i] == b[i];
      ASSERT_TRUE(inherited || (a[i] < 0 && b[i] < 0));
    }
    if (a[6] != b[6]) ++from_a[child[6] == a[6]];
  }
  EXPECT_GT(ChiSquareP(from_a), 0.001);
}

}  // namespace
}  // namespace lanista
