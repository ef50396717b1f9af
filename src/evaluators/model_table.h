// Tables of models that were trained before: their choices and their metrics.
#ifndef LANISTA_SRC_EVALUATORS_MODEL_TABLE_H_
#define LANISTA_SRC_EVALUATORS_MODEL_TABLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"

namespace lanista {

// A CSV file as it was read.
struct TableFile {
  std::string path;
  // SHA-256 of its content.
  std::string sha256;
  // The first line, without spaces around the names, and its number.
  std::vector<std::string> columns;
  int64_t header_line = 1;
  // All other lines, each with as many cells as there are columns.
  std::vector<std::vector<std::string>> rows;
  // The line on which each row begins, from 1.
  std::vector<int64_t> lines;
};

// Reads `path`. NOT_FOUND; INVALID_ARGUMENT names the line: a column that is there twice or has no name, a line with
// more or fewer cells than the first, no lines at all, a quote that never closes; a file that is compressed or larger
// than 1 GiB.
absl::StatusOr<TableFile> ReadTableFile(const std::string& path);

// The models of a table, found by their choices. Immutable: any thread may read.
class ModelTable {
 public:
  // What a model reported when it was trained.
  struct Results {
    // After each step.
    std::vector<std::map<std::string, double>> steps;
    // At the end. Without `default` where the table has none for this model.
    std::map<std::string, double> final;
  };

  // A table of the choices in `config.column`; all other columns hold metrics. INVALID_ARGUMENT names the column, or
  // the line: a column that is not there, a metric that is no number, steps that lack one, one model on two lines.
  static absl::StatusOr<ModelTable> Create(const TableFile& file, const v1::TableConfig& config);

  // OK if the table is one of `space`: each choice has a column, and each line is one of its models, with empty cells
  // for choices that are not active. INVALID_ARGUMENT names the column or the line, and what is allowed there.
  // REQUIRES: the choices of `space` have columns (AddTableColumns).
  absl::Status Check(const v1::SpaceSpec& space) const;

  int64_t size() const { return static_cast<int64_t>(rows_.size()); }

  // The results of a model; NOT_FOUND names its choices. `seed` draws which of several `default_metric` is its default.
  absl::StatusOr<Results> Find(const v1::Sample& sample, uint64_t seed) const;

 private:
  struct ChoiceColumn {
    std::string label;
    size_t column = 0;
  };
  struct MetricColumn {
    std::string name;
    size_t column = 0;
    // The step of the metric, from 1; 0: the metric at the end.
    int step = 0;
  };
  struct Row {
    // The cells of the choices as Comparable returns them, in the order of `choices_`.
    std::vector<std::string> choices;
    // In the order of `metrics_`; NaN where the cell is empty.
    std::vector<double> metrics;
    int64_t line = 0;
  };

  ModelTable() = default;

  // "PATH:LINE: column 'NAME': ".
  std::string Place(int64_t line, size_t column) const;
  absl::Status FindChoices(const v1::TableConfig& config);
  absl::Status FindMetrics();
  absl::Status FindDefaults(const v1::TableConfig& config);
  absl::Status AddRow(const std::vector<std::string>& cells, int64_t line);
  // The metrics that have a value in the row, after `step` or at the end (0).
  std::map<std::string, double> MetricsAt(const Row& row, int step) const;

  std::string path_;
  std::vector<std::string> columns_;
  int64_t header_line_ = 1;
  std::vector<ChoiceColumn> choices_;
  std::vector<MetricColumn> metrics_;
  int steps_ = 0;
  // One of them is a model's `default`.
  std::vector<std::string> default_metrics_;
  std::vector<Row> rows_;
  // From the key of a model's choices to the number of its row.
  absl::flat_hash_map<std::string, int> row_of_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_MODEL_TABLE_H_
