// Early stopping on networks that were all trained, with what they reached after each epoch: bench/tables. Searches as
// in bench:search, which also prints the figures.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness.h"
#include "bench/table_search.h"
#include "tests/stopping/testing.h"

namespace lanista {
namespace {

using bench::Median;
using bench::Search;
using bench::SearchResult;
using testing::ParseStopping;

constexpr char kAsha[] = "asha { reduction_factor: 3 }";
constexpr int kEpochs = 9;

v1::StrategyConfig Random() {
  v1::StrategyConfig config;
  config.mutable_random();
  return config;
}

v1::StrategyConfig Tpe() {
  v1::StrategyConfig config;
  config.mutable_tpe();
  return config;
}

Search MakeSearch(const v1::StrategyConfig& strategy, const std::string& stopping) {
  Search search;
  search.strategy = strategy;
  if (!stopping.empty()) search.stopping = ParseStopping(stopping);
  return search;
}

class StoppingOnDigits : public ::testing::Test {
 protected:
  static constexpr int kSeeds = 50;

  struct Result {
    // By seed; regrets in percentage points of accuracy.
    std::vector<double> epochs, regrets;
  };

  Result Run(const Search& search) const {
    Result result;
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      const SearchResult found = bench::RunSearch(table_, search, seed);
      result.epochs.push_back(found.epochs);
      result.regrets.push_back(100 * bench::Regret(table_, found.rows));
    }
    return result;
  }
  Result RunModels(const v1::StrategyConfig& strategy, const std::string& stopping, int models) const {
    Search search = MakeSearch(strategy, stopping);
    search.models = models;
    return Run(search);
  }
  Result RunEpochs(const v1::StrategyConfig& strategy, const std::string& stopping, int epochs) const {
    Search search = MakeSearch(strategy, stopping);
    search.epochs = epochs;
    return Run(search);
  }

  const bench::Table table_ = bench::OwnTable().value();
};

TEST_F(StoppingOnDigits, AshaFindsNearlyAsGoodModelsInFarFewerEpochs) {
  constexpr int kModels = 200;
  const Result whole = RunModels(Random(), "", kModels);
  const Result stopped = RunModels(Random(), kAsha, kModels);
  EXPECT_EQ(whole.epochs, std::vector<double>(kSeeds, kModels * kEpochs));
  EXPECT_LE(Median(stopped.epochs), 0.4 * kModels * kEpochs);
  EXPECT_LE(Median(stopped.regrets), Median(whole.regrets) + 0.2);
}

TEST_F(StoppingOnDigits, TpeLearnsFromModelsThatAshaStopped) {
  constexpr int kBudget = 50 * kEpochs;
  const Result random = RunEpochs(Random(), kAsha, kBudget);
  const Result tpe = RunEpochs(Tpe(), kAsha, kBudget);
  EXPECT_EQ(random.epochs, std::vector<double>(kSeeds, kBudget));
  EXPECT_EQ(tpe.epochs, random.epochs);
  EXPECT_LT(bench::MannWhitney(tpe.regrets, random.regrets), 0.01);
}

TEST_F(StoppingOnDigits, HyperbandAndMedianSaveLess) {
  constexpr int kModels = 100;
  const double asha = Median(RunModels(Random(), kAsha, kModels).epochs);
  for (const std::string stopping : {"hyperband {}", "median {}"}) {
    const Result stopped = RunModels(Random(), stopping, kModels);
    EXPECT_GT(Median(stopped.epochs), asha) << stopping;
    EXPECT_LT(Median(stopped.epochs), kModels * kEpochs) << stopping;
  }
}

// A table of two models of which the worse one starts better.
class Crossing : public ::testing::Test {
 protected:
  static bench::Table Read(const std::string& text) {
    const std::string path = ::testing::TempDir() + "/crossing.csv";
    std::ofstream(path) << text;
    return bench::ValueOrDie(bench::ReadTable(path, {"width"}, "accuracy", ""));
  }
};

TEST_F(Crossing, CurvesAreTheMetricsColumnsWithSteps) {
  const bench::Table table = Read("width,accuracy@2,accuracy,accuracy@1,loss@3\n8,0.6,0.7,0.5,1\n16,0.8,0.9,0.1,1\n");
  EXPECT_EQ(table.epochs(), 2);
  EXPECT_EQ(table.curves[0], (std::vector<double>{0.5, 0.6}));
  const bench::Table without = Read("width,accuracy,loss@1\n8,0.7,1\n16,0.9,1\n");
  EXPECT_EQ(without.epochs(), 1);
  EXPECT_TRUE(without.curves.empty());
}

TEST_F(Crossing, AStoppedModelIsNoResult) {
  const bench::Table table = Read("width,accuracy,accuracy@1,accuracy@2\n8,0.7,0.5,0.6\n16,0.9,0.1,0.8\n");
  const SearchResult whole = bench::RunSearch(table, MakeSearch(Random(), ""), 1);
  EXPECT_EQ(whole.epochs, 4);
  EXPECT_EQ(bench::Regret(table, whole.rows), 0);
  // Where the better one starts second, it is stopped after its first epoch.
  bool was_stopped = false;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const SearchResult result = bench::RunSearch(table, MakeSearch(Random(), "asha {}"), seed);
    if (result.epochs == 4) continue;
    was_stopped = true;
    EXPECT_EQ(result.epochs, 3);
    EXPECT_EQ(result.rows.size(), 1u);
    EXPECT_NEAR(bench::Regret(table, result.rows), 0.2, 1e-9);
  }
  EXPECT_TRUE(was_stopped);
}

TEST_F(Crossing, ModelsThatTrainAtTheEndOfTheBudgetAreLost) {
  const bench::Table table = Read("width,accuracy,accuracy@1,accuracy@2\n8,0.7,0.5,0.6\n16,0.9,0.1,0.8\n");
  Search search = MakeSearch(Random(), "");
  search.epochs = 1;
  const SearchResult result = bench::RunSearch(table, search, 1);
  EXPECT_EQ(result.epochs, 1);
  EXPECT_TRUE(result.rows.empty());
  EXPECT_NEAR(bench::Regret(table, result.rows), 0.2, 1e-9) << "as if it had found the worst model";
}

}  // namespace
}  // namespace lanista
