#include "actors/kept_weights.h"

#include "gtest/gtest.h"

namespace lanista {
namespace {

TEST(KeptWeights, DropsTheWorstOnceThereAreMoreThanWanted) {
  KeptWeights kept(2, v1::MAXIMIZE);
  EXPECT_EQ(kept.Succeeded(1, "1", 0.5), std::nullopt);
  EXPECT_EQ(kept.Succeeded(2, "2", 0.7), std::nullopt);
  EXPECT_EQ(kept.Succeeded(3, "3", 0.6), "1");
  EXPECT_EQ(kept.Succeeded(4, "4", 0.1), "4") << "its own";
  EXPECT_EQ(kept.Succeeded(5, "5", 0.9), "3");
}

TEST(KeptWeights, TakesTheSmallestWhereThatIsBetter) {
  KeptWeights kept(1, v1::MINIMIZE);
  EXPECT_EQ(kept.Succeeded(1, "1", 0.5), std::nullopt);
  EXPECT_EQ(kept.Succeeded(2, "2", 0.7), "2");
  EXPECT_EQ(kept.Succeeded(3, "3", 0.1), "1");
}

TEST(KeptWeights, KeepsTheEarlierOfEqualModels) {
  KeptWeights kept(1, v1::MAXIMIZE);
  EXPECT_EQ(kept.Succeeded(1, "1", 0.5), std::nullopt);
  EXPECT_EQ(kept.Succeeded(2, "2", 0.5), "2");
}

}  // namespace
}  // namespace lanista
