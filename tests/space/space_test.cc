#include "src/space/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/space/draw.h"
#include "tests/space/testing.h"

namespace lanista {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MakeChoice;
using testing::MakeCondition;
using testing::MakeSpace;
using testing::MakeSpec;
using testing::Terms;

v1::Choice MakeInputChoice(const std::string& label, int candidates, int n_chosen) {
  v1::Choice choice = MakeChoice(label, candidates);
  choice.set_kind(v1::Choice::INPUT_CHOICE);
  choice.set_n_chosen(n_chosen);
  return choice;
}

v1::Choice MakeTextChoice(const std::string& label, const std::vector<std::string>& candidates) {
  v1::Choice choice = MakeChoice(label, 0);
  for (const std::string& candidate : candidates) choice.add_candidates()->set_s(candidate);
  return choice;
}

std::string ErrorOf(const v1::SpaceSpec& spec) {
  const absl::StatusOr<Space> space = Space::FromProto(spec);
  EXPECT_EQ(space.status().code(), absl::StatusCode::kInvalidArgument) << space.status();
  return std::string(space.status().message());
}

// A small space with conditions of every kind.
Space MakeRandomSpace(std::mt19937_64& random) {
  std::vector<v1::Choice> choices;
  const int count = 1 + Uniform(random, 7);
  for (int i = 0; i < count; ++i) {
    std::vector<Terms> conditions;
    const int conjunctions = i == 0 ? 0 : Uniform(random, 3);
    for (int c = 0; c < conjunctions; ++c) {
      Terms terms;
      for (int parent = 0; parent < i; ++parent) {
        if (Uniform(random, 3) != 0) continue;
        std::vector<int32_t> chosen;
        for (int option = 0; option < choices[parent].candidates_size(); ++option) {
          if (Uniform(random, 2) == 0) chosen.push_back(option);
        }
        if (!chosen.empty()) terms.emplace_back(absl::StrCat("c", parent), chosen);
      }
      if (!terms.empty()) conditions.push_back(terms);
    }
    choices.push_back(MakeChoice(absl::StrCat("c", i), 1 + Uniform(random, 4), conditions));
  }
  return MakeSpace(choices);
}

TEST(SpaceTest, SizeNumberingAndWalkingAgreeOnRandomSpaces) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    const Space space = MakeRandomSpace(random);
    ASSERT_TRUE(space.size().has_value());
    mpz_class number = 0;
    std::set<std::string> keys;
    std::optional<v1::Sample> sample = space.First();
    for (; sample.has_value(); sample = space.Next(*sample), ++number) {
      ASSERT_TRUE(space.Check(*sample).ok());
      ASSERT_LT(number, *space.size());
      ASSERT_EQ(space.Unrank(number).SerializeAsString(), sample->SerializeAsString()) << number << "\n"
                                                                                       << space.Describe();
      ASSERT_TRUE(keys.insert(Space::Key(*sample)).second);
    }
    ASSERT_EQ(number, *space.size()) << space.Describe();
    const v1::Sample drawn = space.Random(random);
    ASSERT_TRUE(keys.count(Space::Key(drawn))) << Space::ToJson(drawn);
    ASSERT_EQ(space.FromJson(Space::ToJson(drawn))->SerializeAsString(), drawn.SerializeAsString());
  }
}

// Up to three sets of terms, each on some of the space's choices.
std::vector<Terms> RandomImpossible(const Space& space, std::mt19937_64& random) {
  std::vector<Terms> impossible;
  for (uint64_t left = Uniform(random, 4); left > 0; --left) {
    Terms terms;
    for (const v1::Choice& choice : space.spec().choices()) {
      std::vector<int32_t> chosen;
      for (int option = 0; option < choice.candidates_size(); ++option) {
        if (Uniform(random, 3) == 0) chosen.push_back(option);
      }
      if (!chosen.empty()) terms.emplace_back(choice.label(), chosen);
    }
    if (!terms.empty()) impossible.push_back(terms);
  }
  return impossible;
}

TEST(SpaceTest, ImpossibleModelsAreNotCountedNumberedWalkedOrDrawn) {
  std::mt19937_64 random(11);
  int left_out = 0;
  for (int round = 0; round < 300; ++round) {
    const Space all = MakeRandomSpace(random);
    v1::SpaceSpec spec = all.spec();
    for (const Terms& terms : RandomImpossible(all, random)) *spec.add_impossible() = MakeCondition(terms);
    const absl::StatusOr<Space> space = Space::FromProto(spec);
    if (!space.ok()) continue;  // Nothing is possible.
    EXPECT_EQ(space->fingerprint(), all.fingerprint());
    mpz_class number = 0;
    for (std::optional<v1::Sample> sample = all.First(); sample.has_value(); sample = all.Next(*sample)) {
      const bool possible = space->IsPossible(*space->OptionsOf(*sample));
      EXPECT_EQ(space->FromJson(Space::ToJson(*sample)).ok(), possible);
      if (!possible) {
        ++left_out;
        continue;
      }
      ASSERT_EQ(Space::Key(space->Unrank(number)), Space::Key(*sample));
      const std::optional<v1::Sample> next = space->Next(*sample);
      ++number;
      ASSERT_EQ(next.has_value(), number < *space->size());
      if (next.has_value()) {
        EXPECT_EQ(Space::Key(*next), Space::Key(space->Unrank(number)));
      }
    }
    ASSERT_EQ(number, *space->size());
    EXPECT_EQ(Space::Key(space->First()), Space::Key(space->Unrank(0)));
    for (int draw = 0; draw < 20; ++draw) EXPECT_TRUE(space->IsPossible(space->RandomOptions(random)));
  }
  EXPECT_GT(left_out, 100) << "the test must have something to test";
}

TEST(SpaceTest, TheLastPossibleModelIsDrawn) {
  std::vector<v1::Choice> choices;
  std::vector<Terms> impossible;
  for (int i = 0; i < 20; ++i) {
    choices.push_back(MakeChoice(absl::StrCat("c", i), 10));
    impossible.push_back({{absl::StrCat("c", i), {0, 1, 2, 3, 4, 5, 6, 7, 9}}});
  }
  impossible.pop_back();
  const Space space = MakeSpace(choices, impossible);
  EXPECT_EQ(*space.size(), 10);
  std::mt19937_64 random(1);
  std::set<std::string> keys;
  for (int draw = 0; draw < 200; ++draw) keys.insert(Space::Key(space.Random(random)));
  EXPECT_EQ(keys.size(), 10u);
}

TEST(SpaceTest, AnImpossibleModelThatIsNamedIsAnErrorThatSaysWhy) {
  const Space space = MakeSpace({MakeChoice("a", 2), MakeChoice("b", 3)}, {{{"a", {1}}, {"b", {0, 2}}}});
  EXPECT_TRUE(space.FromJson(R"({"a": 1, "b": 1})").ok());
  EXPECT_EQ(space.FromJson(R"({"a": 1, "b": 2})").status(),
            absl::InvalidArgumentError("no model with a = 1 and b in {0, 2} can be built: discovery tried it"));
}

TEST(SpaceTest, ImpossibleModelsNeedASpaceThatCanBeCountedAndHasOthers) {
  v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2)});
  *spec.add_impossible() = MakeCondition({{"a", {0, 1}}});
  EXPECT_THAT(ErrorOf(spec), HasSubstr("no others"));
  *spec.mutable_impossible(0) = MakeCondition({{"a", {2}}});
  EXPECT_THAT(ErrorOf(spec), HasSubstr("an impossible model depends on options of 'a' that are not there"));
  *spec.mutable_impossible(0) = MakeCondition({{"b", {0}}});
  EXPECT_THAT(ErrorOf(spec), HasSubstr("'b'"));
  *spec.mutable_impossible(0) = MakeCondition({});
  EXPECT_THAT(ErrorOf(spec), HasSubstr("without terms"));
  *spec.mutable_impossible(0) = MakeCondition({{"a", {0}}});
  spec.set_complete(false);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("its size is unknown"));
}

TEST(SpaceTest, HugeSpacesAreCountedExactly) {
  std::vector<v1::Choice> choices = {MakeChoice("depth", 100)};
  for (int block = 0; block < 100; ++block) {
    std::vector<int32_t> deep_enough;
    for (int depth = block; depth < 100; ++depth) deep_enough.push_back(depth);
    for (int i = 0; i < 5; ++i) {
      choices.push_back(MakeChoice(absl::StrCat("b", block, "/", i), 3, {{{"depth", deep_enough}}}));
    }
  }
  const Space space = MakeSpace(choices);
  ASSERT_TRUE(space.size().has_value());
  mpz_class expected = 0;
  mpz_class power = 1;
  for (int depth = 0; depth < 100; ++depth) expected += (power *= 243);
  EXPECT_EQ(*space.size(), expected);
  const v1::Sample last = space.Unrank(expected - 1);
  EXPECT_TRUE(space.Check(last).ok());
  EXPECT_FALSE(space.Next(last).has_value());
}

TEST(SpaceTest, IndependentConditionalPairsAreCountedThoughTheyInterleave) {
  // All parents first: a count that went through the choices in order would need 2^40 states.
  std::vector<v1::Choice> choices;
  for (int i = 0; i < 40; ++i) choices.push_back(MakeChoice(absl::StrCat("use", i), 2));
  for (int i = 0; i < 40; ++i) {
    choices.push_back(MakeChoice(absl::StrCat("rate", i), 3, {{{absl::StrCat("use", i), {1}}}}));
  }
  const Space space = MakeSpace(choices);
  ASSERT_TRUE(space.size().has_value());
  EXPECT_EQ(*space.size(), mpz_class(1) << 80);
}

TEST(SpaceTest, EntangledConditionsHaveNoSizeButCanBeWalked) {
  std::vector<v1::Choice> choices;
  for (int i = 0; i < 40; ++i) choices.push_back(MakeChoice(absl::StrCat("a", i), 2));
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    std::vector<Terms> conditions;
    for (int c = 0; c < 3; ++c) {
      std::set<int> parents;
      while (parents.size() < 3) parents.insert(Uniform(random, 40));
      Terms terms;
      for (const int parent : parents)
        terms.push_back({absl::StrCat("a", parent), {static_cast<int32_t>(Uniform(random, 2))}});
      conditions.push_back(terms);
    }
    choices.push_back(MakeChoice(absl::StrCat("b", i), 2, conditions));
  }
  const Space space = MakeSpace(choices);
  EXPECT_FALSE(space.size().has_value());
  EXPECT_TRUE(space.Check(*space.Next(space.First())).ok());
  EXPECT_TRUE(space.Check(space.Random(random)).ok());
}

TEST(SpaceTest, CombinationsComeInLexicographicOrder) {
  const v1::Choice choice = MakeInputChoice("in", 5, 3);
  ASSERT_EQ(*CountOptions(choice), 10);
  std::vector<int> previous;
  for (int option = 0; option < 10; ++option) {
    const v1::Decision decision = MakeDecision(choice, option);
    const std::vector<int> indices(decision.index().begin(), decision.index().end());
    EXPECT_LT(previous, indices);
    EXPECT_EQ(OptionOf(choice, decision), option);
    previous = indices;
  }
  EXPECT_EQ(previous, (std::vector<int>{2, 3, 4}));
}

TEST(SpaceTest, DecisionsThatDoNotFitHaveNoOption) {
  const v1::Choice choice = MakeInputChoice("in", 4, 2);
  v1::Decision decision = MakeDecision(choice, 3);
  decision.mutable_value(0)->set_i(77);
  EXPECT_EQ(OptionOf(choice, decision), -1) << "another value";
  decision = MakeDecision(choice, 3);
  decision.mutable_index()->SwapElements(0, 1);
  EXPECT_EQ(OptionOf(choice, decision), -1) << "not ascending";
  decision = MakeDecision(choice, 3);
  decision.set_index(1, 4);
  EXPECT_EQ(OptionOf(choice, decision), -1) << "out of range";
  decision = MakeDecision(choice, 3);
  decision.clear_index();
  EXPECT_EQ(OptionOf(choice, decision), 3) << "known by its values";
}

TEST(SpaceTest, TooManyCombinationsAreAnError) {
  EXPECT_THAT(ErrorOf(MakeSpec({MakeInputChoice("in", 40, 20)})), HasSubstr("2^31"));
}

TEST(SpaceTest, BadSpecsNameTheChoice) {
  EXPECT_THAT(ErrorOf(MakeSpec({MakeChoice("a", 0)})), HasSubstr("choice 'a' has no candidates"));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeTextChoice("a", {"x", "y", "x"})})),
              HasSubstr("choice 'a': candidates 0 and 2 are both \"x\""));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeChoice("", 1)})), HasSubstr("no label"));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeInputChoice("a", 2, 3)})), HasSubstr("'a': n_chosen is 3"));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeInputChoice("a", 2, -1)})), HasSubstr("'a': n_chosen is -1"));
  v1::Choice layer = MakeChoice("a", 3);
  layer.set_kind(v1::Choice::LAYER_CHOICE);
  layer.set_n_chosen(2);
  EXPECT_THAT(ErrorOf(MakeSpec({layer})), HasSubstr("only a choice of inputs or values can choose 2"));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeChoice("a", 2), MakeChoice("a", 2)})), HasSubstr("'a' is declared twice"));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeChoice("b", 2, {{{"a", {0}}}}), MakeChoice("a", 2)})),
              HasSubstr("choice 'b' depends on 'a', which is not an earlier choice"));
  EXPECT_THAT(ErrorOf(MakeSpec({MakeChoice("a", 2), MakeChoice("b", 2, {{{"a", {2}}}})})),
              HasSubstr("options of 'a' that are not there"));
}

TEST(SpaceTest, FingerprintsTellSpacesApartAndNeverChange) {
  const v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2), MakeChoice("b", 2, {{{"a", {1}}}})});
  const Space space = *Space::FromProto(spec);
  // On record in journals: a change here breaks resuming.
  EXPECT_EQ(space.fingerprint(), "cfd52c5ef6ce28d0");

  v1::SpaceSpec other = spec;
  other.mutable_choices(0)->set_declared_in("elsewhere");
  other.add_warnings("hm");
  EXPECT_EQ(Space::FromProto(other)->fingerprint(), space.fingerprint());
  other = spec;
  other.mutable_choices(0)->mutable_candidates(0)->set_f(0);
  EXPECT_NE(Space::FromProto(other)->fingerprint(), space.fingerprint()) << "0 and 0.0 are different candidates";
  other = spec;
  other.mutable_choices(1)->mutable_active_if(0)->mutable_all_of(0)->set_chosen(0, 0);
  EXPECT_NE(Space::FromProto(other)->fingerprint(), space.fingerprint());
  other = spec;
  other.set_fingerprint("0123456789abcdef");
  EXPECT_EQ(Space::FromProto(other).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(SpaceTest, ConditionsAreTheSameHoweverTheyAreWritten) {
  const Space one =
      MakeSpace({MakeChoice("a", 3), MakeChoice("b", 2), MakeChoice("c", 2, {{{"a", {0, 2}}, {"b", {1}}}})});
  const Space two =
      MakeSpace({MakeChoice("a", 3), MakeChoice("b", 2), MakeChoice("c", 2, {{{"b", {1}}, {"a", {2, 0, 2}}}})});
  EXPECT_EQ(one.fingerprint(), two.fingerprint());
}

TEST(SpaceTest, DifferencesAreDescribedLineByLine) {
  const v1::SpaceSpec here =
      MakeSpec({MakeChoice("a", 2), MakeChoice("b", 2, {{{"a", {1}}}}), MakeTextChoice("c", {"x"})});
  const v1::SpaceSpec there = MakeSpec({MakeChoice("a", 3), MakeChoice("b", 2), MakeChoice("d", 1)});
  EXPECT_EQ(DescribeDifference(here, there),
            "choice 'a': candidates [0, 1] here, [0, 1, 2] there\n"
            "choice 'b': active if a = 1 here, always there\n"
            "choice 'c': only here\n"
            "choice 'd': only there");
  EXPECT_EQ(DescribeDifference(here, here), "");
}

TEST(SpaceTest, SamplesAreWrittenAndReadAsJson) {
  v1::Choice mixed = MakeChoice("mixed", 0);
  mixed.add_candidates()->set_f(0.25);
  mixed.add_candidates()->set_f(2);
  mixed.add_candidates()->set_i(3);
  mixed.add_candidates()->set_b(true);
  mixed.add_candidates();
  mixed.add_candidates()->set_f(std::numeric_limits<double>::infinity());
  const Space space = MakeSpace({mixed, MakeInputChoice("in", 4, 2), MakeTextChoice("act", {"relu", "ta\"nh"})});
  EXPECT_EQ(Space::ToJson(space.First()), R"({"mixed":0.25,"in":[0,1],"act":"relu"})");
  for (std::optional<v1::Sample> sample = space.First(); sample.has_value(); sample = space.Next(*sample)) {
    const std::string json = Space::ToJson(*sample);
    const absl::StatusOr<v1::Sample> read = space.FromJson(json);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->SerializeAsString(), sample->SerializeAsString()) << json;
  }
  const auto read = space.FromJson(R"({"act": "relu", "in": [3, 1], "mixed": 2})");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(Space::ToJson(*read), R"({"mixed":2.0,"in":[1,3],"act":"relu"})");
  EXPECT_EQ(space.FromJson(R"({"act": "relu", "in": [3, 1], "mixed": 3.0})")->decisions(0).index(0), 2);
}

TEST(SpaceTest, IntegersAndDoublesOfTheSameValueAreToldApartByTheirType) {
  v1::Choice choice = MakeChoice("n", 0);
  choice.add_candidates()->set_f(2);
  choice.add_candidates()->set_i(2);
  const Space space = MakeSpace({choice});
  EXPECT_EQ(space.FromJson(R"({"n": 2})")->decisions(0).index(0), 1);
  EXPECT_EQ(space.FromJson(R"({"n": 2.0})")->decisions(0).index(0), 0);
}

TEST(SpaceTest, BadJsonNamesTheLabelAndWhatIsAllowed) {
  const Space space = MakeSpace({MakeChoice("a", 2), MakeChoice("b", 2, {{{"a", {1}}}}), MakeInputChoice("in", 3, 2)});
  const auto error = [&](const std::string& json) { return std::string(space.FromJson(json).status().message()); };
  EXPECT_THAT(error("{"), HasSubstr("not JSON"));
  EXPECT_THAT(error("[1]"), HasSubstr("JSON object"));
  EXPECT_THAT(error(R"({"in": [0, 1]})"), HasSubstr("choice 'a' is missing; it takes one of [0, 1]"));
  EXPECT_THAT(error(R"({"a": 7, "in": [0, 1]})"), HasSubstr("choice 'a' takes one of [0, 1], not 7"));
  EXPECT_THAT(error(R"({"a": "0", "in": [0, 1]})"), HasSubstr("not \"0\""));
  EXPECT_THAT(error(R"({"a": 0, "b": 1, "in": [0, 1]})"),
              HasSubstr("choice 'b' is not active in this model; it is if a = 1"));
  EXPECT_THAT(error(R"({"a": 0, "in": [0, 0]})"), HasSubstr("a list of 2 different ones of [0, 1, 2]"));
  EXPECT_THAT(error(R"({"a": 0, "in": 1})"), HasSubstr("a list of 2"));
  EXPECT_THAT(error(R"({"a": 0, "in": [0, 1], "z": 1})"), HasSubstr("no choice 'z'; it has: a, b, in"));
}

TEST(SpaceTest, CheckNamesWhatIsWrongWithASample) {
  const Space space = MakeSpace({MakeChoice("a", 2), MakeChoice("b", 2, {{{"a", {1}}}}), MakeChoice("c", 2)});
  v1::Sample sample = space.First();
  EXPECT_TRUE(space.Check(sample).ok());
  *sample.add_decisions() = sample.decisions(0);
  EXPECT_THAT(std::string(space.Check(sample).message()), HasSubstr("'a' is there twice"));
  sample = space.First();
  sample.mutable_decisions()->RemoveLast();
  EXPECT_THAT(std::string(space.Check(sample).message()), HasSubstr("'c' is missing"));
  sample = space.First();
  sample.mutable_decisions(0)->set_index(0, 1);
  EXPECT_THAT(std::string(space.Check(sample).message()), HasSubstr("'a' takes one of"));
  sample = space.First();
  sample.mutable_decisions(1)->set_label("b");
  EXPECT_THAT(std::string(space.Check(sample).message()), HasSubstr("'b' is not active"));
}

TEST(SpaceTest, AnIncompleteSpaceLetsOtherLabelsPass) {
  v1::SpaceSpec spec = MakeSpec({MakeChoice("a", 2)});
  spec.set_complete(false);
  const Space space = *Space::FromProto(spec);
  EXPECT_FALSE(space.size().has_value());
  const absl::StatusOr<v1::Sample> sample = space.FromJson(R"({"late": 5, "a": 1})");
  ASSERT_TRUE(sample.ok()) << sample.status();
  EXPECT_TRUE(space.Check(*sample).ok());
  EXPECT_EQ(Space::ToJson(*sample), R"({"a":1,"late":5})");
  EXPECT_EQ(OptionOf(MakeChoice("late", 9), sample->decisions(1)), 5);
}

TEST(SpaceTest, WithSetsOneChoiceAndDrawsOrDropsWhatDependsOnIt) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 300; ++round) {
    const Space space = MakeRandomSpace(random);
    const v1::Sample before = space.Random(random);
    const Space::Options options = *space.OptionsOf(before);
    for (int choice = 0; choice < space.choice_count(); ++choice) {
      if (options[choice] < 0) continue;
      const auto option = static_cast<int32_t>(Uniform(random, space.option_count(choice)));
      const v1::Sample after = space.With(before, choice, option, random);
      ASSERT_TRUE(space.Check(after).ok()) << space.Check(after) << "\n" << space.Describe();
      const Space::Options changed = *space.OptionsOf(after);
      ASSERT_EQ(changed[choice], option);
      for (int other = 0; other < space.choice_count(); ++other) {
        if (other == choice || options[other] < 0 || changed[other] < 0) continue;
        ASSERT_EQ(changed[other], options[other]) << "choices that stay active keep their options";
      }
    }
  }
}

TEST(SpaceTest, OptionsAndSamplesAreTheSameModels) {
  std::mt19937_64 random(12);
  for (int round = 0; round < 100; ++round) {
    const Space space = MakeRandomSpace(random);
    Space::Options options = space.FirstOptions();
    std::optional<v1::Sample> sample = space.First();
    while (sample.has_value()) {
      ASSERT_EQ(space.ToSample(options).SerializeAsString(), sample->SerializeAsString());
      ASSERT_EQ(*space.OptionsOf(*sample), options);
      sample = space.Next(*sample);
      ASSERT_EQ(space.Advance(&options), sample.has_value());
    }
  }
}

TEST(SpaceTest, EachOptionIsDrawnEquallyOften) {
  const Space space = MakeSpace({MakeChoice("a", 3)});
  std::mt19937_64 random(1);
  int counts[3] = {};
  for (int i = 0; i < 30000; ++i) ++counts[space.Random(random).decisions(0).index(0)];
  for (const int count : counts) EXPECT_NEAR(count, 10000, 400);
}

TEST(SpaceTest, DrawsAreTheSameOnEveryPlatform) {
  std::mt19937_64 random(42);
  // The standard fixes mt19937_64's numbers; these follow from them.
  EXPECT_EQ(Uniform(random, 1000), 13930160852258120406u % 1000);
  EXPECT_EQ(Uniform(random, 1000), 11788048577503494824u % 1000);
}

TEST(SpaceTest, SpacesOfThousandsOfChoicesAreWalkedQuickly) {
  std::vector<v1::Choice> choices = {MakeChoice("c0", 2)};
  for (int i = 1; i < 5000; ++i) {
    choices.push_back(MakeChoice(absl::StrCat("c", i), 2, {{{absl::StrCat("c", i - 1 - i % 3 % i), {0, 1}}}}));
  }
  const Space space = MakeSpace(choices);
  v1::Sample sample = space.First();
  for (int i = 0; i < 20; ++i) sample = *space.Next(sample);
  EXPECT_TRUE(space.Check(sample).ok());
}

}  // namespace
}  // namespace lanista
