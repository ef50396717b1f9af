// Models that the user wants to be tried first.
#include "src/strategies/initial_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using testing::Keys;
using testing::Make;
using testing::MakeBlock;
using testing::MakeQuickStart;
using testing::Named;
using testing::RunAtOnce;
using testing::RunSearch;

// `samples` as in a configuration, read with a seed.
absl::StatusOr<std::vector<v1::Sample>> Read(const std::vector<std::string>& samples, const Space& space,
                                             uint64_t seed = 1, const LimitsOfSamples& limits = {}) {
  v1::ExperimentConfig config;
  for (const std::string& sample : samples) config.add_initial()->set_sample(sample);
  return ReadInitialModels(config.initial(), space, limits, seed);
}

std::string Error(const std::vector<std::string>& samples, const Space& space) {
  const auto read = Read(samples, space);
  EXPECT_EQ(read.status().code(), absl::StatusCode::kInvalidArgument) << read.status();
  return std::string(read.status().message());
}

class InitialModels : public ::testing::TestWithParam<std::string> {};

TEST_P(InitialModels, ComeFirstAndAreNotProposedAgain) {
  const Space space = MakeQuickStart();
  const std::vector<v1::Sample> first =
      Read({R"({"layer": 1, "dropout": 2, "feature": 0})", R"({"layer": 0, "dropout": 0, "feature": 0})",
            R"({"layer": 1, "dropout": 1, "feature": 1})"},
           space)
          .value();
  for (const int at_once : {1, 2, 5}) {
    const std::unique_ptr<Strategy> strategy = BeginWith(first, Make(Named(GetParam()), space));
    const std::vector<std::string> keys = Keys(RunAtOnce(strategy.get(), at_once, 1000, 3));
    ASSERT_EQ(keys.size(), 18u);
    EXPECT_EQ(std::vector<std::string>(keys.begin(), keys.begin() + 3), Keys(first));
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 18u) << "none is proposed twice";
  }
}

TEST_P(InitialModels, TheSameCallsGiveTheSameModels) {
  const Space space = MakeBlock();
  const std::vector<v1::Sample> first = Read({R"({"layers": 2})", "{}"}, space).value();
  const auto run = [&] { return Keys(RunAtOnce(BeginWith(first, Make(Named(GetParam()), space)).get(), 4, 40, 9)); };
  EXPECT_EQ(run(), run());
}

INSTANTIATE_TEST_SUITE_P(Strategies, InitialModels, ::testing::ValuesIn(testing::BuiltInNames()));

TEST(ReadInitialModels, DrawsWhatIsLeftOutSoThatWhatIsNamedIsActive) {
  const Space space = MakeBlock();
  // op_2 is there in one of three models, kernel_2 is no choice of the block's; a kernel in two of three.
  std::set<std::string> keys;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto samples = Read({R"({"op_2": 1, "kernel_1": 3})", "{}"}, space, seed);
    ASSERT_TRUE(samples.ok()) << samples.status();
    ASSERT_EQ(samples->size(), 2u);
    for (const v1::Sample& sample : *samples) ASSERT_TRUE(space.Check(sample).ok());
    const std::string json = Space::ToJson(samples->at(0));
    EXPECT_THAT(json, ::testing::HasSubstr("\"layers\":2"));
    EXPECT_THAT(json, ::testing::HasSubstr("\"op_2\":1"));
    EXPECT_THAT(json, ::testing::HasSubstr("\"kernel_1\":3"));
    EXPECT_EQ(Keys(*samples), Keys(*Read({R"({"op_2": 1, "kernel_1": 3})", "{}"}, space, seed))) << "by the seed";
    keys.insert(Space::Key(samples->at(0)));
  }
  EXPECT_GT(keys.size(), 5u);
}

TEST(ReadInitialModels, TheSameWordsTwiceAreTwoModelsWhereThereIsRoom) {
  const Space space = MakeQuickStart();
  const auto samples = Read({R"({"layer": 1})", R"({"layer": 1})", R"({"layer": 1})"}, space).value();
  const std::vector<std::string> keys = Keys(samples);
  EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 3u);
}

// Samples whose decisions add up to more than `most` miss a limit.
LimitsOfSamples AtMost(double most) {
  LimitsOfSamples limits;
  limits.violation = [most](const v1::Sample& sample) { return std::max(0.0, *testing::Score(sample).value - most); };
  limits.describe = [](const v1::Sample& sample) { return absl::StrCat("a sum of ", *testing::Score(sample).value); };
  return limits;
}

TEST(ReadInitialModels, WhatIsLeftOutIsDrawnWithinTheLimits) {
  const Space space = MakeQuickStart();
  for (uint64_t seed = 0; seed < 20; ++seed) {
    // Of the nine models with the first layer, three add up to at most 1.
    const auto samples = Read({R"({"layer": 0})", R"({"layer": 0})", R"({"layer": 0})"}, space, seed, AtMost(1));
    ASSERT_TRUE(samples.ok()) << samples.status();
    const std::vector<std::string> keys = Keys(*samples);
    EXPECT_EQ(std::set<std::string>(keys.begin(), keys.end()).size(), 3u);
    for (const v1::Sample& sample : *samples) EXPECT_LE(*testing::Score(sample).value, 1);
  }
}

TEST(ReadInitialModels, LimitsThatNoDrawKeepsAreAnErrorWithTheSampleAndTheNearest) {
  const Space space = MakeQuickStart();
  const auto error = [&](const std::vector<std::string>& samples, double most) {
    const auto read = Read(samples, space, 1, AtMost(most));
    EXPECT_TRUE(absl::IsInvalidArgument(read.status())) << read.status();
    return std::string(read.status().message());
  };
  EXPECT_EQ(error({R"({"layer": 0})", R"({"layer": 1, "dropout": 1})"}, 1),
            "initial[1].sample: none of the 3 models that were drawn for it is within the limits; the nearest has a "
            "sum of 2");
  EXPECT_EQ(error({R"({"layer": 1, "dropout": 1, "feature": 2})"}, 1),
            "initial[0].sample: it is not within the limits: it has a sum of 4");
}

TEST(ReadInitialModels, MistakesNameTheModelAndTheLabel) {
  const Space space = MakeQuickStart();
  EXPECT_EQ(Error({"{}", R"({"layer": 7})"}, space), "initial[1].sample: choice 'layer' takes one of [0, 1], not 7");
  EXPECT_THAT(
      Error({R"({"lair": 1})"}, space),
      ::testing::HasSubstr("initial[0].sample: the space has no choice 'lair'; it has: layer, dropout, feature"));
  EXPECT_THAT(Error({"layer = 1"}, space), ::testing::HasSubstr("initial[0].sample: not JSON"));
  EXPECT_THAT(Error({"[1]"}, space), ::testing::HasSubstr("a sample is a JSON object"));
  EXPECT_EQ(Error({R"({"layers": 0, "op_1": 1})"}, MakeBlock()),
            "initial[0].sample: choice 'op_1' is not active in this model; it is if layers in {1, 2}");
  // No draw can cure these.
  EXPECT_THAT(Error({R"({"layer": ")" + std::string(100000, 'x') + R"("})"}, space),
              ::testing::HasSubstr("takes one of [0, 1], not \"xxx"));
  EXPECT_THAT(Error({R"({"layer": )" + std::string(300000, '[') + std::string(300000, ']') + "}"}, space),
              ::testing::HasSubstr("initial[0].sample: the JSON is nested more than 1000 levels deep"));
  // Of ten thousand models one has it.
  const Space rare = testing::MakeSpace({testing::MakeChoice("a", 100), testing::MakeChoice("b", 100, {{{"a", {7}}}}),
                                         testing::MakeChoice("c", 2, {{{"b", {9}}}})});
  EXPECT_THAT(Error({R"({"c": 1})"}, rare),
              ::testing::HasSubstr("(drawn 1000 times: name the choices that it depends on, too)"));
  EXPECT_TRUE(Read({R"({"a": 7, "b": 9, "c": 1})"}, rare).ok());
  const std::string whole = R"({"layer": 1, "dropout": 2, "feature": 0})";
  EXPECT_EQ(Error({"{}", whole, whole}, space),
            R"(initial[2].sample: {"layer":1,"dropout":2,"feature":0} is the same model as initial[1])");
}

}  // namespace
}  // namespace lanista
