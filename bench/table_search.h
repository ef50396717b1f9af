// Searches on tables of networks that were all trained before: plain objects in virtual time, eight models in flight.
#ifndef LANISTA_BENCH_TABLE_SEARCH_H_
#define LANISTA_BENCH_TABLE_SEARCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "src/space/space.h"

namespace lanista::bench {

// Models that run at the same time.
constexpr int kInFlight = 8;

// A space whose models all have a value (larger is better) and perhaps a cost (smaller is better).
struct Table {
  std::string name;
  Space space;
  // Space::Key of each model: its number in the lists.
  absl::flat_hash_map<std::string, int> rows;
  std::vector<double> values;
  // Empty: none.
  std::vector<double> costs;
  // What each model reports after each epoch of its training, equally many of all. Empty: a training is one epoch.
  std::vector<std::vector<double>> curves;

  double best() const;
  // Of a training.
  int epochs() const { return curves.empty() ? 1 : static_cast<int>(curves[0].size()); }
};

// A choice between values, without candidates.
v1::Choice MakeChoice(const std::string& label);

// A CSV file with a column for each of `choices`, and one row for each combination of what is in them. `metric` and
// `cost` are columns of numbers; `cost` may be empty. Columns "METRIC@1", "METRIC@2" and so on are the curves.
// INVALID_ARGUMENT says what the table lacks.
absl::StatusOr<Table> ReadTable(const std::string& path, const std::vector<std::string>& choices,
                                const std::string& metric, const std::string& cost);

// The project's own table (bench/tables/README.md): networks for drawn digits, layers and kernels under conditions,
// with FLOPs as costs and the accuracy after each epoch. Its files are sought from the working folder on.
absl::StatusOr<Table> OwnTable();

// A table that is drawn: a chain of 2, 4 or 6 layers, each with one of four operators, and a width. An operator has an
// effect, and so has each pair of neighbours: what goes together counts. Layers are choices under conditions.
Table DrawTable();

struct Search {
  v1::StrategyConfig strategy;
  // Two objectives: the value and the cost.
  bool with_cost = false;
  // nullopt: all models run to their end.
  std::optional<v1::EarlyStoppingConfig> stopping;
  // What the search may spend; with neither, it goes on to the end of the space. It ends when so many models have had
  // their end or their verdict, or at the end of this epoch, all models' counted together: models that train are lost.
  std::optional<int> models;
  std::optional<int> epochs;
};

struct SearchResult {
  // The rows of the models that ran to their end.
  std::vector<int> rows;
  // That were trained, by all models together.
  int epochs = 0;
};

// Each model takes between half and one and a half of virtual time for an epoch; verdicts take none. Ends the program
// on an error.
SearchResult RunSearch(const Table& table, const Search& search, uint64_t seed);

// By how much the best model of a search is worse than the table's; of a search without one, by how much the worst is.
double Regret(const Table& table, const std::vector<int>& rows);

// One-sided Mann-Whitney: the probability of ranks of `a` as small as these if `a` and `b` came from the same
// distribution; normal approximation with the correction for ties.
double MannWhitney(const std::vector<double>& a, const std::vector<double>& b);

// The share of what a table dominates, that some of its rows dominate: from the 10% quantile of its values and its
// largest cost on, both axes scaled to [0, 1].
class Hypervolume {
 public:
  // `table` must outlive it. REQUIRES: it has costs.
  explicit Hypervolume(const Table& table);

  double Share(const std::vector<int>& rows) const { return Area(rows) / whole_; }

 private:
  double Area(const std::vector<int>& rows) const;

  const Table& table_;
  double least_value_ = 0;
  double best_value_ = 0;
  double least_cost_ = 0;
  double most_cost_ = 0;
  // Of all rows.
  double whole_ = 0;
};

}  // namespace lanista::bench

#endif  // LANISTA_BENCH_TABLE_SEARCH_H_
