// Tables of numbers, in memory. Classification takes the texts of the target column as classes (as numbers, and sorted
// so, if all are numbers, else bytewise); regression takes its numbers. The evaluator's task decides; without one, a
// target column of numbers means regression.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/data/csv_file.h"
#include "src/data/dataset.h"
#include "src/data/rows.h"
#include "src/data/split.h"

namespace lanista::data {
namespace {

// One file as it was read: features as numbers, targets still as text.
struct Table {
  std::string path;
  // Names of all columns; "0", "1", ... if the file has no header.
  std::vector<std::string> columns;
  // Indices into `columns`.
  std::vector<size_t> features;
  std::vector<size_t> targets;
  // Both row by row.
  std::vector<double> inputs;
  std::vector<std::string> texts;
  // The line in the file of each row.
  std::vector<int64_t> lines;

  int64_t rows() const { return static_cast<int64_t>(lines.size()); }
  std::string Place(int64_t line, size_t column) const {
    return absl::StrCat(path, ":", line, ": column '", columns[column], "': ");
  }
};

std::optional<double> ParseNumber(const std::string& text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value) || !(std::abs(value) <= FLT_MAX)) return std::nullopt;
  return value;
}

absl::Status NotANumber(const Table& table, int64_t line, size_t column, const std::string& text) {
  return absl::InvalidArgumentError(absl::StrCat(
      table.Place(line, column),
      absl::StripAsciiWhitespace(text).empty() ? "the field is empty"
                                               : absl::StrCat("'", ShortField(text), "' is not a finite number"),
      "; correct or remove the row, or leave the column out with feature_columns"));
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

absl::StatusOr<std::vector<size_t>> FindColumns(const Table& table, const Names& names) {
  std::vector<size_t> found;
  for (const std::string& name : names) {
    const auto column = std::find(table.columns.begin(), table.columns.end(), name);
    if (column == table.columns.end()) {
      return absl::InvalidArgumentError(absl::StrCat(table.path, ": there is no column '", name, "'; there are ",
                                                     absl::StrJoin(table.columns, ", ")));
    }
    found.push_back(column - table.columns.begin());
  }
  return found;
}

absl::Status ChooseColumns(const v1::CsvConfig& config, Table& table) {
  std::vector<std::string> sorted = table.columns;
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    return absl::InvalidArgumentError(absl::StrCat(table.path, ": two columns are named '", *twice, "'"));
  }
  LANISTA_ASSIGN_OR_RETURN(table.targets, FindColumns(table, config.target_columns()));
  if (table.targets.empty()) table.targets = {table.columns.size() - 1};
  const auto is_target = [&](size_t column) {
    return std::find(table.targets.begin(), table.targets.end(), column) != table.targets.end();
  };
  LANISTA_ASSIGN_OR_RETURN(table.features, FindColumns(table, config.feature_columns()));
  for (const size_t column : table.features) {
    if (is_target(column)) {
      return absl::InvalidArgumentError(
          absl::StrCat(table.path, ": column '", table.columns[column], "' is a feature and a target"));
    }
  }
  if (config.feature_columns().empty()) {
    for (size_t column = 0; column < table.columns.size(); ++column) {
      if (!is_target(column)) table.features.push_back(column);
    }
  }
  if (table.features.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(table.path, ": no column is left to learn from; is the delimiter right? The columns are: ",
                     absl::StrJoin(table.columns, " | ")));
  }
  return absl::OkStatus();
}

// Names of columns and classes stand in results.
absl::Status CheckText(const std::string& path, int64_t line, const std::string& text) {
  if (IsUtf8(text)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, ":", line, ": '", ToUtf8(ShortField(text)), "' is not UTF-8: save the table as UTF-8"));
}

absl::StatusOr<Table> ReadTable(const std::string& path, const v1::CsvConfig& config, char delimiter) {
  Table table;
  table.path = path;
  const bool header = !config.has_header() || config.header();
  const auto on_row = [&](int64_t line, std::vector<std::string>& fields) -> absl::Status {
    if (table.columns.empty()) {
      for (size_t i = 0; i < fields.size(); ++i) {
        table.columns.push_back(header ? std::string(absl::StripAsciiWhitespace(fields[i])) : absl::StrCat(i));
        LANISTA_RETURN_IF_ERROR(CheckText(path, line, table.columns.back()));
      }
      LANISTA_RETURN_IF_ERROR(ChooseColumns(config, table));
      if (header) return absl::OkStatus();
    }
    if (fields.size() != table.columns.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ":", line, ": ", fields.size(), " fields, but the first line has ", table.columns.size()));
    }
    for (const size_t column : table.features) {
      const std::optional<double> value = ParseNumber(fields[column]);
      if (!value.has_value()) return NotANumber(table, line, column, fields[column]);
      table.inputs.push_back(*value);
    }
    for (const size_t column : table.targets) {
      table.texts.emplace_back(absl::StripAsciiWhitespace(fields[column]));
      if (table.texts.back().empty()) {
        return absl::InvalidArgumentError(absl::StrCat(table.Place(line, column), "the target is empty"));
      }
      LANISTA_RETURN_IF_ERROR(CheckText(path, line, table.texts.back()));
    }
    table.lines.push_back(line);
    return absl::OkStatus();
  };
  const absl::Status read = ReadCsv(path, delimiter, on_row);
  if (absl::IsNotFound(read)) {
    std::error_code error;
    return absl::NotFoundError(absl::StrCat("CSV file ", path, " not found; sought as ",
                                            std::filesystem::absolute(path, error).lexically_normal().string()));
  }
  LANISTA_RETURN_IF_ERROR(read);
  if (table.rows() == 0) return absl::InvalidArgumentError(absl::StrCat(path, ": there are no rows of data"));
  return table;
}

bool HasNumbersAlone(const Table& table) {
  return std::all_of(table.texts.begin(), table.texts.end(),
                     [](const std::string& text) { return ParseNumber(text).has_value(); });
}

// The classes of a table.
class Classes {
 public:
  explicit Classes(const Table& table) : table_(table.path), are_numbers_(HasNumbersAlone(table)) {
    std::map<Key, std::string> names;
    for (const std::string& text : table.texts) names.emplace(KeyOf(text), text);
    for (const auto& [key, text] : names) {
      labels_[key] = static_cast<int64_t>(names_.size());
      names_.push_back(text);
    }
  }

  // By number; of a class that is written in several ways the first one.
  const std::vector<std::string>& names() const { return names_; }

  // The numbers of a table's classes, which may be the other one: int64, [rows].
  absl::StatusOr<at::Tensor> Targets(const Table& table) const {
    at::Tensor target = at::empty({table.rows()}, at::kLong);
    int64_t* to = target.data_ptr<int64_t>();
    for (int64_t row = 0; row < table.rows(); ++row) {
      const auto found = labels_.find(KeyOf(table.texts[row]));
      if (found == labels_.end()) {
        return absl::InvalidArgumentError(absl::StrCat(table.Place(table.lines[row], table.targets[0]), "the class '",
                                                       ShortField(table.texts[row]), "' is in no row of ", table_,
                                                       ": correct or remove the row, or add the class there"));
      }
      to[row] = found->second;
    }
    return target;
  }

 private:
  using Key = std::pair<double, std::string>;

  // Equal for texts that name one class: programs write a number as 1 and as 1.0. Classes are in the order of this.
  Key KeyOf(const std::string& text) const {
    const std::optional<double> number = are_numbers_ ? ParseNumber(text) : std::nullopt;
    if (!number.has_value()) return {0, text};
    // From here on a double stands for several integers.
    constexpr double kLargestExact = 9007199254740992;
    return {*number, std::abs(*number) < kLargestExact ? "" : text};
  }

  const std::string table_;
  const bool are_numbers_;
  std::map<Key, int64_t> labels_;
  std::vector<std::string> names_;
};

absl::StatusOr<at::Tensor> NumberTargets(const Table& table) {
  const auto outputs = static_cast<int64_t>(table.targets.size());
  at::Tensor target = at::empty({table.rows(), outputs}, at::kFloat);
  float* to = target.data_ptr<float>();
  for (size_t i = 0; i < table.texts.size(); ++i) {
    const std::optional<double> value = ParseNumber(table.texts[i]);
    if (!value.has_value()) {
      return NotANumber(table, table.lines[i / outputs], table.targets[i % outputs], table.texts[i]);
    }
    to[i] = static_cast<float>(*value);
  }
  return target;
}

// The shift and scale of a feature column.
struct Scale {
  double mean = 0;
  double deviation = 1;
};

// Mean 0 and variance 1 over `rows`; a column that is constant there is shifted only. Its deviation need not be 0: the
// mean is rounded.
std::vector<Scale> Standardize(const Table& table, const std::vector<int64_t>& rows) {
  const size_t width = table.features.size();
  const auto count = static_cast<double>(rows.size());
  std::vector<Scale> scales(width);
  for (size_t column = 0; column < width; ++column) {
    double sum = 0;
    const double first = table.inputs[rows.front() * width + column];
    bool constant = true;
    for (const int64_t row : rows) {
      const double value = table.inputs[row * width + column];
      sum += value;
      constant = constant && value == first;
    }
    if (constant) {
      scales[column].mean = first;
      continue;
    }
    const double mean = sum / count;
    double squares = 0;
    for (const int64_t row : rows) {
      const double distance = table.inputs[row * width + column] - mean;
      squares += distance * distance;
    }
    const double deviation = std::sqrt(squares / count);
    scales[column] = {mean, deviation > 0 ? deviation : 1};
  }
  return scales;
}

at::Tensor Inputs(const Table& table, const std::vector<Scale>& scales) {
  const auto width = static_cast<int64_t>(scales.size());
  at::Tensor input = at::empty({table.rows(), width}, at::kFloat);
  float* to = input.data_ptr<float>();
  for (size_t i = 0; i < table.inputs.size(); ++i) {
    const Scale& scale = scales[i % width];
    to[i] = static_cast<float>((table.inputs[i] - scale.mean) / scale.deviation);
  }
  return input;
}

absl::StatusOr<std::unique_ptr<DataSplits>> OpenCsv(const v1::CsvConfig& config, const DatasetRequest& request) {
  const char delimiter = config.has_delimiter() ? config.delimiter()[0] : ',';
  LANISTA_ASSIGN_OR_RETURN(const Table table, ReadTable(config.path(), config, delimiter));
  std::vector<const Table*> tables = {&table};
  Table validation;
  if (config.has_validation_path()) {
    LANISTA_ASSIGN_OR_RETURN(validation, ReadTable(config.validation_path(), config, delimiter));
    if (validation.columns != table.columns) {
      return absl::InvalidArgumentError(absl::StrCat(validation.path, " has other columns than ", table.path, ": ",
                                                     absl::StrJoin(validation.columns, ", "), " instead of ",
                                                     absl::StrJoin(table.columns, ", ")));
    }
    tables.push_back(&validation);
  }

  auto splits = std::make_unique<DataSplits>();
  const bool all_numbers =
      std::all_of(tables.begin(), tables.end(), [](const Table* part) { return HasNumbersAlone(*part); });
  splits->task = request.task.value_or(all_numbers ? Task::kRegression : Task::kClassification);
  splits->input_shape = {static_cast<int64_t>(table.features.size())};

  std::vector<Example> parts(tables.size());
  if (splits->task == Task::kClassification) {
    if (table.targets.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(table.path, ": classification wants one target column, not ", table.targets.size()));
    }
    const Classes classes(table);
    splits->class_names = classes.names();
    splits->outputs = static_cast<int64_t>(splits->class_names.size());
    for (size_t i = 0; i < tables.size(); ++i) {
      LANISTA_ASSIGN_OR_RETURN(parts[i].target, classes.Targets(*tables[i]));
    }
  } else {
    splits->outputs = static_cast<int64_t>(table.targets.size());
    for (size_t i = 0; i < tables.size(); ++i) {
      LANISTA_ASSIGN_OR_RETURN(parts[i].target, NumberTargets(*tables[i]));
    }
  }

  SplitIndices indices;
  if (config.has_validation_path()) {
    indices.train.resize(table.rows());
    std::iota(indices.train.begin(), indices.train.end(), 0);
  } else {
    LANISTA_ASSIGN_OR_RETURN(indices, Split(table.rows(), config.split(), request.order_seed, table.path));
  }
  for (const size_t column : table.features) splits->feature_names.push_back(table.columns[column]);
  if (splits->task == Task::kRegression) {
    for (const size_t column : table.targets) splits->target_names.push_back(table.columns[column]);
  }
  const bool standardize = !config.has_standardize() || config.standardize();
  const std::vector<Scale> scales =
      standardize ? Standardize(table, indices.train) : std::vector<Scale>(table.features.size());
  for (size_t i = 0; i < tables.size(); ++i) parts[i].input = Inputs(*tables[i], scales);
  if (standardize) {
    v1::Standardization& step = *splits->preprocessing.emplace_back().mutable_standardization();
    for (const Scale& scale : scales) {
      step.add_mean(scale.mean);
      step.add_std(scale.deviation);
    }
  }
  if (!config.has_validation_path()) {
    parts = {GatherRows(parts[0], indices.train), GatherRows(parts[0], indices.validation)};
  }
  splits->train = MakeInMemoryDataset(std::move(parts[0]));
  splits->validation = MakeInMemoryDataset(std::move(parts[1]));
  return splits;
}

}  // namespace

LANISTA_REGISTER_BUILT_IN(DatasetRegistry, csv, v1::CsvConfig, OpenCsv);

}  // namespace lanista::data
