// Sorting and crowding against brute force, and the search against its definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "src/strategies/pareto.h"
#include "src/strategies/strategy.h"
#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::Make;
using testing::MakeHuge;
using testing::Named;
using testing::ParseStrategy;
using testing::RunAtOnce;

Observation Objectives(const std::vector<double>& objectives) {
  Observation observation = testing::Succeeded(objectives[0]);
  observation.objectives = objectives;
  return observation;
}

std::vector<Observation> MakeObservations(size_t count, size_t objectives, std::mt19937_64& random) {
  std::vector<Observation> observations;
  for (size_t i = 0; i < count; ++i) {
    std::vector<double> values;
    // Few values, so that there are ties.
    for (size_t o = 0; o < objectives; ++o) values.push_back(static_cast<double>(Uniform(random, 8)));
    observations.push_back(Objectives(values));
    if (Uniform(random, 5) == 0) observations.back().violation = static_cast<double>(1 + Uniform(random, 3));
  }
  return observations;
}

std::vector<const Observation*> Pointers(const std::vector<Observation>& observations) {
  std::vector<const Observation*> pointers;
  for (const Observation& observation : observations) pointers.push_back(&observation);
  return pointers;
}

TEST(DominatesTest, LimitsComeFirstThenAllObjectivesTogether) {
  const Observation a = Objectives({1, 5});
  EXPECT_TRUE(Dominates(Objectives({1, 6}), a));
  EXPECT_TRUE(Dominates(Objectives({2, 6}), a));
  EXPECT_FALSE(Dominates(Objectives({2, 4}), a));
  EXPECT_FALSE(Dominates(a, a));
  Observation infeasible = Objectives({9, 9});
  infeasible.violation = 0.1;
  EXPECT_TRUE(Dominates(a, infeasible));
  Observation stopped = Objectives({9, 9});
  stopped.outcome = v1::ModelEnded::STOPPED_EARLY;
  EXPECT_TRUE(Dominates(a, stopped));
  // One objective.
  EXPECT_TRUE(Dominates(testing::Succeeded(2), testing::Succeeded(1)));
}

TEST(SortIntoFrontsTest, PeelsOffWhatNothingLeftDominates) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<Observation> observations = MakeObservations(1 + Uniform(random, 40), 1 + round % 3, random);
    const std::vector<int> fronts = SortIntoFronts(Pointers(observations));
    std::vector<int> expected(observations.size(), -1);
    for (int front = 0; std::count(expected.begin(), expected.end(), -1) > 0; ++front) {
      std::vector<size_t> members;
      for (size_t a = 0; a < observations.size(); ++a) {
        bool dominated = expected[a] >= 0;
        for (size_t b = 0; b < observations.size(); ++b) {
          dominated = dominated || (expected[b] < 0 && Dominates(observations[b], observations[a]));
        }
        if (!dominated) members.push_back(a);
      }
      for (const size_t a : members) expected[a] = front;
    }
    ASSERT_EQ(fronts, expected);
  }
}

TEST(CrowdingTest, IsTheDistanceOfTheNeighboursInEachObjective) {
  std::mt19937_64 random(2);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 200; ++round) {
    // A front of two objectives without ties: what is better in one is worse in the other.
    std::set<double> values;
    while (values.size() < 2 + Uniform(random, 20)) values.insert(UniformReal(random));
    std::vector<Observation> front;
    for (const double value : values) front.push_back(Objectives({value, 1 / (1 + value)}));
    std::shuffle(front.begin(), front.end(), random);
    const std::vector<double> distances = CrowdingDistances(Pointers(front));
    for (size_t i = 0; i < front.size(); ++i) {
      double expected = 0;
      for (size_t objective = 0; objective < 2; ++objective) {
        double below = -kInfinity, above = kInfinity, least = kInfinity, most = -kInfinity;
        const double mine = front[i].objectives[objective];
        for (const Observation& other : front) {
          const double value = other.objectives[objective];
          if (value < mine) below = std::max(below, value);
          if (value > mine) above = std::min(above, value);
          least = std::min(least, value);
          most = std::max(most, value);
        }
        expected += (above - below) / (most - least);
      }
      if (expected == kInfinity) {
        EXPECT_EQ(distances[i], kInfinity);
      } else {
        EXPECT_NEAR(distances[i], expected, 1e-12);
      }
    }
  }
}

TEST(Nsga2Test, KeepsTheFrontAndDropsTheCrowded) {
  const Space space = MakeHuge();
  const auto strategy = Make(ParseStrategy("nsga2 { population: 4 crossover: 0 mutation: 1e-9 dedup: false }"), space);
  // On a line; the third is between near neighbours. The last is dominated.
  const std::vector<std::vector<double>> objectives = {{0, 10}, {10, 0}, {5, 5}, {5.5, 4.5}, {8, 2}, {4, 4}};
  std::vector<std::string> keys;
  for (size_t i = 0; i < objectives.size(); ++i) {
    const v1::Sample sample = space.ToSample(Space::Options(30, static_cast<int32_t>(i)));
    keys.push_back(Space::Key(sample));
    strategy->Tell(sample, Objectives(objectives[i]));
  }
  // Children are copies of their parents here: so they show who is in the population.
  std::set<std::string> members;
  for (int i = 0; i < 200; ++i) members.insert(Space::Key(strategy->Ask(1)->samples[0]));
  EXPECT_EQ(members, (std::set<std::string>{keys[0], keys[1], keys[2], keys[4]}));
}

TEST(Nsga2Test, FindsBetterTradeOffsThanRandomSearch) {
  const Space space = MakeHuge();
  // High options in the first half of the choices, low ones in the second; the best models have both.
  const auto score = [](const v1::Sample& sample) {
    double first = 0, second = 0;
    for (int i = 0; i < 30; ++i) (i < 15 ? first : second) += sample.decisions(i).index(0);
    return Objectives({first, -second});
  };
  const auto best = [&](const std::string& name) {
    StrategyContext context(space, 2);
    context.objectives = 2;
    context.max_models = 400;
    double most = -1000;
    for (const v1::Sample& sample : RunAtOnce(Make(Named(name), context).get(), 8, 400, 2, score)) {
      const Observation observation = score(sample);
      most = std::max(most, observation.objectives[0] + observation.objectives[1]);
    }
    return most;
  };
  EXPECT_GT(best("nsga2"), best("random") + 20);
}

}  // namespace
}  // namespace lanista
