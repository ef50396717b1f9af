#include "src/goals/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace lanista {
namespace {

using ::testing::ElementsAre;

std::vector<int> Numbers(const std::vector<RankedModel>& models) {
  std::vector<int> numbers;
  for (const RankedModel& model : models) numbers.push_back(model.model);
  return numbers;
}

TEST(RankingTest, OneObjectiveRanksByItsValueAndEqualOnesByTheirNumber) {
  std::vector<RankedModel> models = {{1, {0.5}}, {2, {0.9}}, {3, {0.5}}, {4, {0.9}}};
  SortBestFirst(models);
  EXPECT_THAT(Numbers(models), ElementsAre(2, 4, 1, 3));
}

TEST(RankingTest, AModelThatNothingBeatsComesBeforeABetterFirstObjective) {
  // 3 is beaten by 1 alone.
  std::vector<RankedModel> models = {{1, {0.9, -5}}, {2, {0.1, -1}}, {3, {0.8, -6}}};
  SortBestFirst(models);
  EXPECT_THAT(Numbers(models), ElementsAre(1, 2, 3));
  EXPECT_EQ(models[1].front, 0);
  EXPECT_EQ(models[2].front, 1);
}

TEST(RankingTest, FrontsAreThoseOfTheDefinition) {
  std::mt19937 random(7);
  for (size_t objectives = 1; objectives <= 4; ++objectives) {
    std::vector<RankedModel> models;
    for (int i = 1; i <= 200; ++i) {
      RankedModel& model = models.emplace_back();
      model.model = i;
      // Few values: many models are equal.
      for (size_t j = 0; j < objectives; ++j) model.values.push_back(static_cast<double>(random() % 8));
    }
    SortBestFirst(models);
    for (const RankedModel& model : models) {
      int front = 0;
      for (const RankedModel& other : models) {
        if (Beats(other.values, model.values)) front = std::max(front, other.front + 1);
      }
      EXPECT_EQ(model.front, front) << objectives << " objectives, model " << model.model;
    }
  }
}

}  // namespace
}  // namespace lanista
