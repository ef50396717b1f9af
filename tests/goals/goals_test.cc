#include "src/goals/goals.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "google/protobuf/text_format.h"

namespace lanista {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

Goals Of(const std::string& text) {
  v1::ExperimentConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return Goals(config);
}

v1::Metrics Metrics(const std::map<std::string, double>& values) {
  v1::Metrics metrics;
  metrics.mutable_values()->insert(values.begin(), values.end());
  return metrics;
}

TEST(GoalsTest, WithoutObjectivesTheLargerDefaultIsBetter) {
  const Goals goals = Of("");
  EXPECT_TRUE(goals.only_default());
  EXPECT_THAT(goals.Values(Metrics({{"default", 2}})), Optional(ElementsAre(2)));
  EXPECT_EQ(goals.Violation(Metrics({{"default", 2}})), 0);
}

TEST(GoalsTest, ValuesAreTurnedSoThatLargerIsBetter) {
  EXPECT_THAT(Of("objective: MINIMIZE").Values(Metrics({{"default", 2}})), Optional(ElementsAre(-2)));
  const Goals goals = Of("objectives {} objectives { metric: 'flops' goal: MINIMIZE }");
  EXPECT_TRUE(goals.has_several_objectives());
  EXPECT_THAT(goals.Values(Metrics({{"default", 0.5}, {"flops", 9}})), Optional(ElementsAre(0.5, -9)));
  EXPECT_EQ(goals.Values(Metrics({{"default", 0.5}})), std::nullopt);
}

TEST(GoalsTest, NanAndInfinitiesAreNoResults) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Goals goals = Of("objectives {} objectives { metric: 'flops' goal: MINIMIZE }");
  for (const double value : {std::nan(""), infinity, -infinity}) {
    EXPECT_EQ(goals.Values(Metrics({{"default", value}, {"flops", 9}})), std::nullopt) << value;
    EXPECT_EQ(goals.Values(Metrics({{"default", 0.5}, {"flops", value}})), std::nullopt) << value;
  }
  EXPECT_THAT(goals.Values(Metrics({{"default", 1e308}, {"flops", -1e308}})), Optional(ElementsAre(1e308, 1e308)));
}

TEST(GoalsTest, OnlyModelsThatSucceededAndKeepTheLimitsMayBeTheBest) {
  const Goals goals = Of("objectives {} constraint { metric: 'flops' max: 100 }");
  v1::ModelOutcome outcome;
  outcome.set_outcome(v1::ModelEnded::SUCCEEDED);
  *outcome.mutable_metrics() = Metrics({{"default", 0.5}, {"flops", 100}});
  EXPECT_THAT(goals.BestValues(outcome), Optional(ElementsAre(0.5)));
  outcome.set_outcome(v1::ModelEnded::STOPPED_EARLY);
  EXPECT_EQ(goals.BestValues(outcome), std::nullopt);
  outcome.set_outcome(v1::ModelEnded::SUCCEEDED);
  *outcome.mutable_metrics() = Metrics({{"default", 0.5}, {"flops", 101}});
  EXPECT_EQ(goals.BestValues(outcome), std::nullopt);
}

TEST(GoalsTest, AViolationIsRelativeToItsLimitAndSummedUp) {
  const Goals goals = Of("constraint { metric: 'flops' max: 100 } constraint { metric: 'recall' min: 0.5 }");
  EXPECT_EQ(goals.Violation(Metrics({{"flops", 100}, {"recall", 0.5}})), 0);
  EXPECT_DOUBLE_EQ(goals.Violation(Metrics({{"flops", 150}, {"recall", 0.25}})), 0.5 + 0.5);
  EXPECT_EQ(goals.DescribeViolation(Metrics({{"flops", 150}, {"recall", 0.25}})),
            "flops 150 (at most 100), recall 0.25 (at least 0.5)");
  // What is not known breaks nothing.
  EXPECT_EQ(goals.Violation(Metrics({{"default", 1}})), 0);
}

TEST(GoalsTest, ALimitOfZeroIsBrokenByTheDistanceItself) {
  EXPECT_DOUBLE_EQ(Of("constraint { metric: 'x' max: 0 }").Violation(Metrics({{"x", 3}})), 3);
  EXPECT_DOUBLE_EQ(Of("constraint { metric: 'x' min: -2 }").Violation(Metrics({{"x", -3}})), 0.5);
}

TEST(GoalsTest, ALimitMayHaveTwoSides) {
  const Goals goals = Of("constraint { metric: 'x' min: 1 max: 2 }");
  EXPECT_EQ(goals.Violation(Metrics({{"x", 1.5}})), 0);
  EXPECT_DOUBLE_EQ(goals.Violation(Metrics({{"x", 0.5}})), 0.5);
  EXPECT_DOUBLE_EQ(goals.Violation(Metrics({{"x", 4}})), 1);
}

TEST(GoalsTest, WhatIsMissingIsNamedWithItsField) {
  const Goals goals =
      Of("objectives {} objectives { metric: 'latency' } constraint { metric: 'default' min: 0 } "
         "constraint { metric: 'flops' max: 5 }");
  EXPECT_EQ(goals.FindMissing(Metrics({{"default", 1}})), "objectives[1].metric: 'latency'");
  EXPECT_EQ(goals.FindMissing(Metrics({{"default", 1}, {"latency", 1}})), "constraint[1].metric: 'flops'");
  EXPECT_EQ(goals.FindMissing(Metrics({{"default", 1}, {"latency", 1}, {"flops", 1}})), "");
}

}  // namespace
}  // namespace lanista
