#include "src/experiment/models_in_flight.h"

#include "gtest/gtest.h"

namespace lanista {
namespace {

ModelsInFlight MakeModels(int count) {
  ModelsInFlight models;
  for (int model = 1; model <= count; ++model) models.Add(model);
  return models;
}

TEST(ModelsInFlight, AModelThatEndsGivesItsRoomBack) {
  ModelsInFlight models = MakeModels(3);
  models.Plan(1, /*trial=*/1);
  models.Plan(2, /*trial=*/2);
  EXPECT_EQ(models.room_taken(), 3);
  models.End(1);
  EXPECT_EQ(models.room_taken(), 2);
  models.End(3);
  EXPECT_EQ(models.room_taken(), 1) << "one that was never planned";
  models.End(2);
  EXPECT_EQ(models.room_taken(), 0);
  EXPECT_TRUE(models.empty());
}

TEST(ModelsInFlight, AMergedTrialGivesItsRoomBackWhenAllItsModelsHaveEnded) {
  ModelsInFlight models = MakeModels(4);
  for (const int model : {1, 2, 3}) models.Plan(model, /*trial=*/1);
  models.End(1);
  models.End(3);
  EXPECT_EQ(models.size(), 2);
  EXPECT_EQ(models.room_taken(), 4);
  models.End(2);
  EXPECT_EQ(models.room_taken(), 1);
}

TEST(ModelsInFlight, ThoseThatTryAgainElsewhereHoldNobodyBack) {
  ModelsInFlight models = MakeModels(3);
  for (const int model : {1, 2, 3}) models.Plan(model, /*trial=*/1);
  models.End(1);
  models.Plan(2, /*trial=*/2);
  EXPECT_EQ(models.room_taken(), 3) << "model 3 is in trial 1 yet";
  models.Plan(3, /*trial=*/3);
  EXPECT_EQ(models.room_taken(), 2);
  models.End(2);
  EXPECT_EQ(models.room_taken(), 1);
}

}  // namespace
}  // namespace lanista
