// How much of the page and of a large search goes over the network: what bench:web measures beside its times.
#include <gtest/gtest.h>

#include <cstddef>

#include "bench/made_search.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/storage/journal.h"
#include "src/web/columns.h"
#include "src/web/curves.h"
#include "src/web/embedded_files.h"
#include "src/web/experiment_table.h"
#include "tests/storage/storage_testing.h"

namespace lanista {
namespace {

constexpr int kModels = 6000;
constexpr int kSteps = 3;

TEST(SizesTest, ThePageTakesLessThanAQuarterOfAMegabyte) {
  size_t bytes = 0;
  for (size_t i = 0; i < kEmbeddedFileCount; ++i) bytes += kEmbeddedFiles[i].size;
  EXPECT_GT(bytes, 100000u) << "D3 alone has as much";
  EXPECT_LT(bytes, 250000u);
}

TEST(SizesTest, SixThousandModelsTakeLessThanAMegabyteAndAPointTakesFourBytes) {
  TempFolder temp;
  {
    auto search = bench::MadeSearch::Create(temp.path() + "/made", "made");
    ASSERT_TRUE(search.ok()) << search.status();
    const absl::Status added = (*search)->AddPast(kModels, kSteps);
    ASSERT_TRUE(added.ok()) << added;
  }
  ExperimentTable table;
  const absl::Status read = table.Update(*JournalReader::Open(temp.path() + "/made"));
  ASSERT_TRUE(read.ok()) << read;
  ASSERT_EQ(table.models().size(), static_cast<size_t>(kModels));
  ASSERT_EQ(table.choices().size(), 12u);
  size_t points = 0, models = 0;
  for (const TableModel& model : table.models()) {
    ASSERT_EQ(model.curves.size(), 4u);
    points += model.curves[0].values.size();
    models += model.curves[0].values.empty() ? 0 : 1;
  }
  EXPECT_GT(points, static_cast<size_t>(kModels * (kSteps - 1)));
  EXPECT_EQ(EncodeCurves(table, "default", false).size(), 24 + 8 * models + 4 * points);
  EXPECT_LT(JsonLine(ColumnsDocument(table)).size(), 1000000u);
}

}  // namespace
}  // namespace lanista
