// The strategies on a table of networks that were all trained: NAS-Bench-Macro (Su et al., "Prioritized Architecture
// Sampling with Monto-Carlo Tree Search", CVPR 2021), 8 choices of 3. bench:search runs the same with 50 seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "bench/table_search.h"
#include "tests/strategies/testing.h"

namespace lanista {
namespace {

using bench::Table;
using testing::Named;

// The rows of all models of a search.
std::vector<int> RunModels(const Table& table, const std::string& strategy, int models, uint64_t seed) {
  bench::Search search;
  search.strategy = Named(strategy);
  search.models = models;
  return bench::RunSearch(table, search, seed).rows;
}

class MacroTable : public ::testing::Test {
 protected:
  static constexpr int kSeeds = 4;

  void SetUp() override {
    const char* const data = std::getenv("LANISTA_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "LANISTA_TEST_DATA is not set";
    const std::string path = absl::StrCat(data, "/tables/nas-bench-macro_cifar10.csv");
    if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
    std::vector<std::string> choices;
    for (int i = 0; i < 8; ++i) choices.push_back(absl::StrCat("layer_", i));
    auto table = bench::ReadTable(path, choices, "accuracy", "flops");
    ASSERT_TRUE(table.ok()) << table.status();
    ASSERT_EQ(table->values.size(), 6561);
    table_.emplace(*std::move(table));
  }

  // Regrets of searches with kSeeds seeds, the smallest first.
  std::vector<double> Regrets(const std::string& strategy, int models) const {
    std::vector<double> regrets;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      regrets.push_back(bench::Regret(*table_, RunModels(*table_, strategy, models, seed)));
    }
    std::sort(regrets.begin(), regrets.end());
    return regrets;
  }

  int Hits(const std::string& strategy, int models) const {
    const std::vector<double> regrets = Regrets(strategy, models);
    return static_cast<int>(std::count(regrets.begin(), regrets.end(), 0));
  }

  std::optional<Table> table_;
};

TEST_F(MacroTable, LearnersFindTheBestNetworkWhereRandomSearchDoesNot) {
  EXPECT_GE(Hits("tpe", 200), 3);
  EXPECT_GE(Hits("evolution", 200), 3);
  EXPECT_LE(Hits("random", 200), 1);
  EXPECT_GE(Hits("policy_rl", 500), 2);
}

TEST_F(MacroTable, LearnersAreNearTheBestAfterAHundredModels) {
  EXPECT_LE(bench::Median(Regrets("tpe", 100)), 0.05);
  EXPECT_LE(bench::Median(Regrets("evolution", 100)), 0.07);
}

TEST_F(MacroTable, Nsga2FindsNearlyTheWholeFront) {
  const bench::Hypervolume hypervolume(*table_);
  bench::Search search;
  search.strategy = Named("nsga2");
  search.with_cost = true;
  search.models = 400;
  std::vector<double> shares;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    shares.push_back(hypervolume.Share(bench::RunSearch(*table_, search, seed).rows));
  }
  EXPECT_GE(bench::Median(shares), 0.975);
}

TEST(OwnTable, HoldsEveryNetworkOfItsSpace) {
  const auto table = bench::OwnTable();
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->values.size(), 620u);
  EXPECT_EQ(*table->space.size(), 620);
  std::vector<double> sorted = table->values;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_GT(sorted.back() - bench::Median(sorted), 0.05) << "there is something to find";
  const auto [least, most] = std::minmax_element(table->costs.begin(), table->costs.end());
  EXPECT_GT(*most, 5 * *least);
  ASSERT_EQ(table->curves.size(), 620u);
  for (size_t i = 0; i < table->curves.size(); ++i) {
    ASSERT_EQ(table->curves[i].size(), 9u);
    EXPECT_EQ(table->curves[i].back(), table->values[i]);
  }
}

TEST(OwnTable, LearnersFindMoreThanRandomSearchWithTheSameModels) {
  const Table table = bench::OwnTable().value();
  const auto regrets = [&](const std::string& name) {
    std::vector<double> all;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      all.push_back(bench::Regret(table, RunModels(table, name, 80, seed)));
    }
    return all;
  };
  const std::vector<double> random = regrets("random");
  EXPECT_LT(bench::MannWhitney(regrets("tpe"), random), 0.01);
  EXPECT_LT(bench::MannWhitney(regrets("evolution"), random), 0.01);
}

TEST(DrawnTable, LearnersBeatRandomSearchUnderConditions) {
  const Table table = bench::DrawTable();
  const auto regrets = [&](const std::string& name) {
    std::vector<double> all;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      all.push_back(bench::Regret(table, RunModels(table, name, 150, seed)));
    }
    return all;
  };
  const std::vector<double> random = regrets("random");
  EXPECT_LT(bench::MannWhitney(regrets("tpe"), random), 0.005);
  EXPECT_LT(bench::MannWhitney(regrets("evolution"), random), 0.005);
}

TEST(MannWhitneyTest, IsTheNormalApproximationWithTies) {
  EXPECT_NEAR(bench::MannWhitney({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 0.0060929, 1e-6);
  EXPECT_GT(bench::MannWhitney({6, 7, 8}, {1, 2, 3}), 0.95);
  EXPECT_NEAR(bench::MannWhitney({1, 1, 1}, {1, 1, 1}), 0.5, 1e-12);
}

}  // namespace
}  // namespace lanista
