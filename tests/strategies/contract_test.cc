// What every built-in strategy promises, and what random and grid search promise besides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/space/space.h"
#include "src/strategies/strategy.h"
#include "tests/space/testing.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::Failed;
using ::testing::HasSubstr;
using testing::Keys;
using testing::Make;
using testing::MakeBlock;
using testing::MakeChoice;
using testing::MakeCondition;
using testing::MakeHuge;
using testing::MakeLopsided;
using testing::MakeQuickStart;
using testing::MakeSpace;
using testing::MakeSpec;
using testing::Named;
using testing::ParseStrategy;
using testing::RunAtOnce;
using testing::RunSearch;
using testing::Score;
using testing::Succeeded;

class StrategyContract : public ::testing::TestWithParam<std::string> {
 protected:
  const v1::StrategyConfig config_ = Named(GetParam());
};

TEST_P(StrategyContract, ProposesValidSamplesOnly) {
  for (const Space& space : {MakeQuickStart(), MakeLopsided(), MakeHuge(), MakeBlock()}) {
    for (const v1::Sample& sample : RunSearch(Make(config_, space).get(), 3, 60)) {
      ASSERT_TRUE(space.Check(sample).ok()) << space.Check(sample);
    }
  }
}

TEST_P(StrategyContract, TheSameSeedAndResultsGiveTheSameSamples) {
  const Space space = MakeHuge();
  EXPECT_EQ(Keys(RunSearch(Make(config_, space, 5).get(), 3, 30)),
            Keys(RunSearch(Make(config_, space, 5).get(), 3, 30)));
}

TEST_P(StrategyContract, ExhaustsAFiniteSpaceWithEachModelOnce) {
  const Space space = MakeQuickStart();
  for (const int count : {1, 4, 18, 100}) {
    const std::vector<std::string> keys = Keys(RunSearch(Make(config_, space).get(), count, 1000));
    EXPECT_EQ(keys.size(), 18);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 18);
  }
}

TEST_P(StrategyContract, FindsModelsThatAreHardlyEverDrawn) {
  const Space space = MakeLopsided();
  const std::vector<std::string> keys = Keys(RunSearch(Make(config_, space).get(), 2, 1000));
  EXPECT_EQ(keys.size(), 21);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 21);
}

TEST_P(StrategyContract, StaysExhausted) {
  const Space space = MakeQuickStart();
  const std::unique_ptr<Strategy> strategy = Make(config_, space);
  RunSearch(strategy.get(), 5, 1000);
  const auto proposal = strategy->Ask(5);
  ASSERT_TRUE(proposal.ok());
  EXPECT_TRUE(proposal->exhausted);
  EXPECT_TRUE(proposal->samples.empty());
}

TEST_P(StrategyContract, ASpaceOfOneModelIsProposedOnce) {
  const Space space = MakeSpace({});
  EXPECT_EQ(RunSearch(Make(config_, space).get(), 3, 10).size(), 1);
}

TEST_P(StrategyContract, AHugeSpaceIsNotListed) {
  const Space space = MakeHuge();
  EXPECT_EQ(RunSearch(Make(config_, space).get(), 10, 300).size(), 300);
}

TEST_P(StrategyContract, KeepsEightModelsInFlightWhateverTheOrderOfTheirOutcomes) {
  for (const Space& space : {MakeHuge(), MakeBlock()}) {
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      const std::vector<v1::Sample> samples = RunAtOnce(Make(config_, space, seed).get(), 8, 200, seed);
      const std::vector<std::string> keys = Keys(samples);
      EXPECT_EQ(keys.size(), 200);
      EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 200) << "a model twice";
      for (const v1::Sample& sample : samples) ASSERT_TRUE(space.Check(sample).ok()) << space.Check(sample);
    }
  }
}

TEST_P(StrategyContract, FindsEveryModelOfASpaceWithConditionsOnce) {
  const Space space = MakeBlock();
  const std::vector<std::string> keys = Keys(RunAtOnce(Make(config_, space).get(), 8, 10000, 5));
  EXPECT_EQ(*space.size(), keys.size());
  EXPECT_EQ(*space.size(), std::set<std::string>(keys.begin(), keys.end()).size());
}

TEST_P(StrategyContract, ProposesNoImpossibleModelAndEveryOther) {
  const Space block = MakeBlock();
  v1::SpaceSpec spec = block.spec();
  *spec.add_impossible() = MakeCondition({{"op_0", {0}}, {"kernel_0", {0, 3}}});
  *spec.add_impossible() = MakeCondition({{"layers", {2}}, {"op_1", {2}}});
  const Space space = *Space::FromProto(spec);
  ASSERT_LT(*space.size(), *block.size());
  const std::unique_ptr<Strategy> strategy = Make(config_, space);
  // An impossible model that was tried elsewhere does not count.
  for (std::optional<v1::Sample> sample = block.First(); sample.has_value(); sample = block.Next(*sample)) {
    if (!space.IsPossible(*space.OptionsOf(*sample))) strategy->Tell(*sample, Failed());
  }
  const std::vector<v1::Sample> samples = RunAtOnce(strategy.get(), 8, 10000, 5);
  for (const v1::Sample& sample : samples) ASSERT_TRUE(space.IsPossible(*space.OptionsOf(sample)));
  const std::vector<std::string> keys = Keys(samples);
  EXPECT_EQ(*space.size(), std::set<std::string>(keys.begin(), keys.end()).size());
  EXPECT_EQ(*space.size(), keys.size());
}

// Outcomes of all kinds.
Observation MixedOutcome(const v1::Sample& sample) {
  Observation observation = Score(sample);
  switch (std::hash<std::string>()(Space::Key(sample)) % 5) {
    case 0:
      return Failed();
    case 1:
      observation.outcome = v1::ModelEnded::STOPPED_EARLY;
      observation.steps = 3;
      break;
    case 2:
      observation.violation = 0.5;
      break;
    case 3: {
      Observation canceled;
      canceled.outcome = v1::ModelEnded::CANCELED;
      return canceled;
    }
    default:
      observation.steps = 9;
  }
  return observation;
}

TEST_P(StrategyContract, AReplayOfTheSameCallsGivesTheSameSamples) {
  const Space space = MakeBlock();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    EXPECT_EQ(Keys(RunAtOnce(Make(config_, space, seed).get(), 8, 150, seed, MixedOutcome)),
              Keys(RunAtOnce(Make(config_, space, seed).get(), 8, 150, seed, MixedOutcome)));
  }
}

TEST_P(StrategyContract, GoesOnWhenModelsFail) {
  const Space space = MakeQuickStart();
  const auto fail = [](const v1::Sample&) { return Failed(); };
  const std::vector<std::string> keys = Keys(RunSearch(Make(config_, space).get(), 1, 100, fail));
  EXPECT_EQ(keys.size(), 18);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 18);
  EXPECT_EQ(RunAtOnce(Make(config_, MakeHuge()).get(), 8, 100, 1, fail).size(), 100);
}

TEST_P(StrategyContract, LearnsFromModelsThatWereStoppedAndFromThoseOutsideTheLimits) {
  const Space space = MakeHuge();
  EXPECT_EQ(RunAtOnce(Make(config_, space).get(), 8, 150, 2, MixedOutcome).size(), 150);
}

// Samples whose decisions add up to more than 4 miss a limit.
std::optional<double> OverFour(const v1::Sample& sample) { return std::max(0.0, *Score(sample).value - 4); }

TEST_P(StrategyContract, ProposesNothingOutsideTheLimits) {
  const Space space = MakeBlock();
  StrategyContext context(space, 3);
  context.violation = OverFour;
  std::set<std::string> feasible;
  for (std::optional<v1::Sample> sample = space.First(); sample.has_value(); sample = space.Next(*sample)) {
    if (OverFour(*sample) == 0) feasible.insert(Space::Key(*sample));
  }
  const std::vector<std::string> keys = Keys(RunAtOnce(Make(config_, context).get(), 8, 100000, 7));
  EXPECT_EQ(keys.size(), feasible.size());
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()), feasible);
}

TEST_P(StrategyContract, LimitsThatNothingFulfilsAreAnErrorThatSaysHowFarTheyAre) {
  // The whole of the first is tried, and 10,000 models of the second.
  const Space large = MakeSpace({MakeChoice("a", 1000), MakeChoice("b", 1000)});
  for (const Space& space : {MakeBlock(), large}) {
    StrategyContext context(space, 3);
    context.violation = [](const v1::Sample& sample) { return 2 + *Score(sample).value; };
    const std::unique_ptr<Strategy> strategy = Make(config_, context);
    // What an earlier experiment tried changes nothing.
    const v1::Sample told = space.Unrank(1);
    strategy->Tell(told, Score(told));
    const auto proposal = strategy->Ask(1);
    EXPECT_TRUE(absl::IsFailedPrecondition(proposal.status())) << proposal.status();
    EXPECT_THAT(std::string(proposal.status().message()),
                HasSubstr("is within the limits; the nearest has a violation of "));
  }
}

TEST_P(StrategyContract, IsDoneWhereAnotherSearchHasTriedAllWithinTheLimits) {
  const Space space = MakeBlock();
  StrategyContext context(space, 3);
  context.violation = OverFour;
  const std::unique_ptr<Strategy> strategy = Make(config_, context);
  for (std::optional<v1::Sample> sample = space.First(); sample.has_value(); sample = space.Next(*sample)) {
    if (OverFour(*sample) == 0) strategy->Tell(*sample, Score(*sample));
  }
  bool exhausted = false;
  while (!exhausted) {
    const auto proposal = strategy->Ask(1);
    ASSERT_TRUE(proposal.ok()) << proposal.status();
    ASSERT_TRUE(proposal->samples.empty());
    exhausted = proposal->exhausted;
  }
}

TEST_P(StrategyContract, WhatSomebodyElseProposedOrToldIsNotProposedAgain) {
  const Space space = MakeQuickStart();
  const std::unique_ptr<Strategy> strategy = Make(config_, space);
  const v1::Sample told = space.Unrank(3);
  const v1::Sample expected = space.Unrank(11);
  strategy->Tell(told, Succeeded(1));
  strategy->Expect(expected);
  std::vector<std::string> keys = Keys(RunSearch(strategy.get(), 4, 100));
  EXPECT_EQ(keys.size(), 16);
  keys.push_back(Space::Key(told));
  keys.push_back(Space::Key(expected));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 18);
}

TEST_P(StrategyContract, WorksWithWhatIsKnownOfAnIncompleteSpace) {
  v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2), MakeChoice("b", 3, {{{"a", {1}}}})});
  spec.set_complete(false);
  const Space space = *Space::FromProto(spec);
  EXPECT_EQ(RunSearch(Make(config_, space).get(), 3, 100).size(), 4);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, StrategyContract, ::testing::ValuesIn(testing::BuiltInNames()),
                         [](const auto& info) { return info.param; });

// Proposes the first model for ever: a user's strategy.
class Stubborn : public Strategy {
 public:
  explicit Stubborn(const Space& space) : space_(space) {}
  absl::StatusOr<Proposal> Ask(int count) override {
    return Proposal{std::vector<v1::Sample>(count, space_.First()), false};
  }
  void Tell(const v1::Sample&, const Observation&) override {}

 private:
  const Space& space_;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeStubborn(const Params& params, const StrategyContext& context) {
  params.Get<int64_t>("patience", 3);
  return std::make_unique<Stubborn>(context.space);
}
LANISTA_REGISTER(strategy, "stubborn", MakeStubborn);

TEST(StrategyRegistryTest, HoldsExactlyTheBuiltInStrategiesAndTheUsers) {
  EXPECT_EQ(StrategyRegistry::Get().Names(),
            (std::vector<std::string>{"chain", "evolution", "grid_search", "nsga2", "policy_rl", "random", "tpe",
                                      "custom:stubborn"}));
}

TEST(StrategyRegistryTest, UsersStrategiesAreCreatedByName) {
  const Space space = MakeQuickStart();
  EXPECT_EQ(Make(ParseStrategy("custom { name: 'stubborn' }"), space)->Ask(2)->samples.size(), 2);
}

TEST(StrategyRegistryTest, ParametersOfUsersStrategiesAreChecked) {
  const Space space = MakeQuickStart();
  const auto error = [&](const std::string& params) {
    const auto strategy = StrategyRegistry::Get().Create(
        ParseStrategy("custom { name: 'stubborn' params { " + params + " } }"), StrategyContext(space, 1));
    return std::string(strategy.status().message());
  };
  EXPECT_THAT(error("key: 'patience' value { s: 'long' }"),
              HasSubstr("parameter 'patience' of the strategy 'stubborn'"));
  EXPECT_THAT(error("key: 'patients' value { i: 1 }"), HasSubstr("'patients'"));
}

TEST(StrategyRegistryTest, StrategiesForOneObjectiveNameThoseForSeveral) {
  const Space space = MakeQuickStart();
  StrategyContext context(space, 1);
  context.objectives = 2;
  for (const std::string name : {"evolution", "tpe", "policy_rl"}) {
    const auto strategy = StrategyRegistry::Get().Create(Named(name), context);
    EXPECT_EQ(strategy.status().message(),
              name + " learns from one objective, and there are 2; use nsga2, random or grid_search");
  }
  for (const std::string name : {"grid_search", "nsga2", "random"}) Make(Named(name), context);
}

TEST(ObservationTest, RanksByLimitsThenByStandingThenByValue) {
  const auto make = [](v1::ModelEnded::Outcome outcome, std::optional<double> value, int steps, double violation) {
    Observation observation;
    observation.outcome = outcome;
    observation.value = value;
    observation.steps = steps;
    observation.violation = violation;
    return observation;
  };
  // The best first.
  const std::vector<Observation> ranked = {
      make(v1::ModelEnded::SUCCEEDED, 0.9, 3, 0),
      make(v1::ModelEnded::SUCCEEDED, 0.5, 9, 0),
      make(v1::ModelEnded::STOPPED_EARLY, 0.6, 4, 0),
      make(v1::ModelEnded::STOPPED_EARLY, 0.95, 2, 0),
      make(v1::ModelEnded::STOPPED_EARLY, 0.4, 2, 0),
      make(v1::ModelEnded::SUCCEEDED, 0.2, 9, 0.1),
      make(v1::ModelEnded::OUTCOME_UNSPECIFIED, std::nullopt, 0, 0.1),
      make(v1::ModelEnded::SUCCEEDED, 0.99, 9, 0.2),
      make(v1::ModelEnded::FAILED, std::nullopt, 2, 0),
  };
  for (size_t a = 0; a < ranked.size(); ++a) {
    for (size_t b = 0; b < ranked.size(); ++b) EXPECT_EQ(Ranks(ranked[a], ranked[b]), a < b) << a << " " << b;
  }
}

TEST(RandomTest, DrawsDifferWithTheSeed) {
  const Space space = MakeHuge();
  EXPECT_NE(Keys(RunSearch(Make(Named("random"), space, 1).get(), 5, 20)),
            Keys(RunSearch(Make(Named("random"), space, 2).get(), 5, 20)));
}

TEST(RandomTest, WithoutDedupASpaceHasNoEnd) {
  const Space space = MakeQuickStart();
  v1::StrategyConfig config;
  config.mutable_random()->set_dedup(false);
  EXPECT_EQ(RunSearch(Make(config, space).get(), 7, 98).size(), 98);
}

TEST(GridSearchTest, WalksInTheOrderOfTheSpace) {
  const Space space = MakeQuickStart();
  const std::vector<v1::Sample> samples = RunSearch(Make(Named("grid_search"), space).get(), 4, 100);
  ASSERT_EQ(samples.size(), 18);
  for (int i = 0; i < 18; ++i) EXPECT_EQ(Space::Key(samples[i]), Space::Key(space.Unrank(i)));
}

v1::StrategyConfig Shuffled() {
  v1::StrategyConfig config;
  config.mutable_grid_search()->set_shuffle(true);
  return config;
}

TEST(GridSearchTest, ShuffledItStillVisitsEachModelOnce) {
  for (int size = 1; size <= 40; ++size) {
    const Space space = MakeSpace({MakeChoice("a", size)});
    const std::vector<std::string> keys = Keys(RunSearch(Make(Shuffled(), space, 3).get(), 7, 1000));
    EXPECT_EQ(keys.size(), size);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), size);
  }
}

TEST(GridSearchTest, ShuffledOrdersDifferWithTheSeedAndAreEven) {
  const Space space = MakeSpace({MakeChoice("a", 6)});
  std::map<std::string, int> firsts;
  for (uint64_t seed = 0; seed < 3000; ++seed)
    ++firsts[Space::Key((*Make(Shuffled(), space, seed)->Ask(1)).samples[0])];
  ASSERT_EQ(firsts.size(), 6);
  for (const auto& entry : firsts) EXPECT_NEAR(entry.second, 500, 120);
}

TEST(GridSearchTest, ShufflesAHugeSpaceWithoutListingIt) {
  const Space space = MakeHuge();
  const std::vector<std::string> keys = Keys(RunSearch(Make(Shuffled(), space).get(), 10, 1000));
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 1000);
}

TEST(GridSearchTest, OneAskTestsALimitedNumberOfModelsAndTheNextGoesOn) {
  // A million models; three of them keep the limits, far from each other.
  const Space space = MakeSpace({MakeChoice("a", 1000), MakeChoice("b", 1000)});
  const std::set<std::string> allowed = {Space::Key(space.Unrank(7)), Space::Key(space.Unrank(25000)),
                                         Space::Key(space.Unrank(25001))};
  int tests = 0;
  StrategyContext context(space, 1);
  context.violation = [&](const v1::Sample& sample) {
    ++tests;
    return allowed.count(Space::Key(sample)) > 0 ? 0.0 : 1.0;
  };
  for (const bool in_a_chain : {false, true}) {
    const v1::StrategyConfig config =
        in_a_chain ? ParseStrategy("chain { stage { strategy { grid_search {} } } }") : Named("grid_search");
    const std::unique_ptr<Strategy> strategy = Make(config, context);
    const auto ask = [&] {
      tests = 0;
      absl::StatusOr<Strategy::Proposal> proposal = strategy->Ask(2);
      EXPECT_TRUE(proposal.ok()) << proposal.status();
      EXPECT_LE(tests, 10010);
      EXPECT_FALSE(proposal->exhausted);
      EXPECT_EQ(proposal->searching, proposal->samples.empty());
      return Keys(proposal->samples);
    };
    EXPECT_EQ(ask().size(), 1u) << "what was found runs while the walk goes on";
    EXPECT_EQ(ask().size(), 0u);
    EXPECT_EQ(ask().size(), 2u);
    EXPECT_EQ(ask().size(), 0u);
  }
}

TEST(GridSearchTest, ALongWalkUnderLimitsComesToTheEndOfTheSpace) {
  const Space space = MakeSpace({MakeChoice("a", 200), MakeChoice("b", 200)});
  StrategyContext context(space, 1);
  context.violation = [&](const v1::Sample& sample) {
    return sample.decisions(0).index(0) % 199 == 0 && sample.decisions(1).index(0) == 0 ? 0.0 : 1.0;
  };
  EXPECT_EQ(RunSearch(Make(Named("grid_search"), context).get(), 3, 100).size(), 2u);
}

TEST(GridSearchTest, ShuffleOfASpaceOfUnknownSizeSaysWhatToDo) {
  v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2)});
  spec.set_complete(false);
  const Space space = *Space::FromProto(spec);
  const auto strategy = StrategyRegistry::Get().Create(Shuffled(), StrategyContext(space, 1));
  EXPECT_THAT(std::string(strategy.status().message()), HasSubstr("use grid_search without shuffle, or random"));
}

}  // namespace
}  // namespace lanista
