// What every built-in strategy promises, and what random and grid search promise besides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "protos/experiment.pb.h"
#include "src/space/space.h"
#include "src/strategies/strategy.h"
#include "tests/space/testing.h"

namespace lanista {
namespace {

using ::testing::HasSubstr;
using testing::MakeChoice;
using testing::MakeSpace;
using testing::MakeSpec;

// The 18 models of NNI's quick start.
Space MakeQuickStart() {
  return MakeSpace({MakeChoice("layer", 2), MakeChoice("dropout", 3), MakeChoice("feature", 3)});
}

// One model is as likely as all others together: rejection alone would not find these.
Space MakeLopsided() {
  std::vector<v1::Choice> choices = {MakeChoice("c0", 2)};
  for (int i = 1; i < 20; ++i) {
    choices.push_back(MakeChoice(absl::StrCat("c", i), 2, {{{absl::StrCat("c", i - 1), {1}}}}));
  }
  return MakeSpace(choices);
}

Space MakeHuge() {
  std::vector<v1::Choice> choices;
  for (int i = 0; i < 30; ++i) choices.push_back(MakeChoice(absl::StrCat("c", i), 10));
  return MakeSpace(choices);
}

std::unique_ptr<Strategy> Make(const v1::StrategyConfig& config, const Space& space, uint64_t seed = 1) {
  auto strategy = StrategyRegistry::Get().Create(config, space, seed);
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  return *std::move(strategy);
}

v1::StrategyConfig Named(const std::string& name) {
  v1::StrategyConfig config;
  config.GetReflection()->MutableMessage(&config, config.GetDescriptor()->FindFieldByName(name));
  return config;
}

// What a model scores here: any fixed function of the sample.
Observation Score(const v1::Sample& sample) {
  Observation observation;
  observation.outcome = v1::SUCCEEDED;
  observation.value = 0;
  for (const v1::Decision& decision : sample.decisions()) *observation.value += decision.index(0);
  return observation;
}

// Asks for up to `count` at a time, tells at once, until the strategy is exhausted or has proposed `limit`.
std::vector<v1::Sample> RunSearch(Strategy* strategy, int count, size_t limit) {
  std::vector<v1::Sample> samples;
  bool exhausted = false;
  while (!exhausted && samples.size() < limit) {
    const auto proposal = strategy->Ask(count);
    EXPECT_TRUE(proposal.ok()) << proposal.status();
    if (!proposal.ok()) break;
    EXPECT_LE(proposal->samples.size(), count);
    EXPECT_TRUE(proposal->exhausted || !proposal->samples.empty()) << "nothing is in flight, so nothing to wait for";
    if (!proposal->exhausted && proposal->samples.empty()) break;
    for (const v1::Sample& sample : proposal->samples) {
      samples.push_back(sample);
      strategy->Tell(sample, Score(sample));
    }
    exhausted = proposal->exhausted;
  }
  return samples;
}

std::vector<std::string> Keys(const std::vector<v1::Sample>& samples) {
  std::vector<std::string> keys;
  for (const v1::Sample& sample : samples) keys.push_back(Space::Key(sample));
  return keys;
}

class StrategyContract : public ::testing::TestWithParam<std::string> {
 protected:
  const v1::StrategyConfig config_ = Named(GetParam());
};

TEST_P(StrategyContract, ProposesValidSamplesOnly) {
  for (const Space& space : {MakeQuickStart(), MakeLopsided(), MakeHuge()}) {
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
  EXPECT_EQ(RunSearch(Make(config_, space).get(), 10, 1000).size(), 1000);
}

TEST_P(StrategyContract, GoesOnWhenModelsFail) {
  const Space space = MakeQuickStart();
  const std::unique_ptr<Strategy> strategy = Make(config_, space);
  Observation failure;
  failure.outcome = v1::FAILED;
  size_t proposed = 0;
  for (int i = 0; i < 18; ++i) {
    const auto proposal = strategy->Ask(1);
    ASSERT_TRUE(proposal.ok());
    for (const v1::Sample& sample : proposal->samples) strategy->Tell(sample, failure);
    proposed += proposal->samples.size();
  }
  EXPECT_EQ(proposed, 18);
}

TEST_P(StrategyContract, WorksWithWhatIsKnownOfAnIncompleteSpace) {
  v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2), MakeChoice("b", 3, {{{"a", {1}}}})});
  spec.set_complete(false);
  const Space space = *Space::FromProto(spec);
  EXPECT_EQ(RunSearch(Make(config_, space).get(), 3, 100).size(), 4);
}

INSTANTIATE_TEST_SUITE_P(BuiltIn, StrategyContract, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const std::string& name : StrategyRegistry::Get().Names()) {
                             if (name.rfind("custom:", 0) != 0) names.push_back(name);
                           }
                           return names;
                         }()),
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

absl::StatusOr<std::unique_ptr<Strategy>> MakeStubborn(const v1::Custom&, const Space& space, uint64_t) {
  return std::make_unique<Stubborn>(space);
}
LANISTA_REGISTER_STRATEGY("stubborn", MakeStubborn);

TEST(StrategyRegistryTest, HoldsExactlyTheBuiltInStrategiesAndTheUsers) {
  EXPECT_EQ(StrategyRegistry::Get().Names(), (std::vector<std::string>{"grid_search", "random", "custom:stubborn"}));
}

TEST(StrategyRegistryTest, UsersStrategiesAreCreatedByName) {
  v1::StrategyConfig config;
  config.mutable_custom()->set_name("stubborn");
  const Space space = MakeQuickStart();
  EXPECT_EQ(Make(config, space)->Ask(2)->samples.size(), 2);
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

TEST(GridSearchTest, ShuffleOfASpaceOfUnknownSizeSaysWhatToDo) {
  v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2)});
  spec.set_complete(false);
  const Space space = *Space::FromProto(spec);
  const auto strategy = StrategyRegistry::Get().Create(Shuffled(), space, 1);
  EXPECT_THAT(std::string(strategy.status().message()), HasSubstr("use grid_search without shuffle, or random"));
}

}  // namespace
}  // namespace lanista
