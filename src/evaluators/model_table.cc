#include "src/evaluators/model_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/hash.h"
#include "src/base/json_line.h"
#include "src/base/metric_names.h"
#include "src/base/read_file.h"
#include "src/base/sha256.h"
#include "src/base/shallow_json.h"
#include "src/base/status.h"
#include "src/data/csv_file.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

template <typename... What>
absl::Status Invalid(const What&... what) {
  return absl::InvalidArgumentError(absl::StrCat(what...));
}

std::optional<double> ParseNumber(absl::string_view text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number) && std::isfinite(number)) return number;
  return std::nullopt;
}

// The same text for cells that mean the same: 0.5 and 0.50, True and true, [1, 2] and [1,2].
std::string Comparable(const Json& json) {
  if (json.is_number()) return absl::StrCat("#", Json(json.get<double>()).dump());
  if (!json.is_array()) return JsonLine(json);
  std::vector<std::string> elements;
  for (const Json& element : json) elements.push_back(Comparable(element));
  return absl::StrCat("[", absl::StrJoin(elements, ","), "]");
}

std::string ComparableCell(absl::string_view cell) {
  const absl::string_view text = absl::StripAsciiWhitespace(cell);
  if (const auto number = ParseNumber(text)) return Comparable(Json(*number));
  if (absl::EqualsIgnoreCase(text, "true") || absl::EqualsIgnoreCase(text, "false")) return absl::AsciiStrToLower(text);
  if (absl::StartsWith(text, "[")) {
    const absl::StatusOr<Json> list = ParseShallowJson<Json>(text);
    if (list.ok() && list->is_array()) return Comparable(*list);
  }
  return std::string(text);
}

// Equal for equal lists only: cells may hold anything.
std::string KeyOf(const std::vector<std::string>& cells) {
  std::string key;
  for (const std::string& cell : cells) absl::StrAppend(&key, cell.size(), ":", cell);
  return key;
}

// The options of a choice by their cells. INVALID_ARGUMENT: two of them look alike in a table, or one looks like a
// choice that is not active.
absl::StatusOr<absl::flat_hash_map<std::string, int32_t>> OptionsByCell(const v1::Choice& choice) {
  constexpr int32_t kMostOptions = 100000;
  LANISTA_ASSIGN_OR_RETURN(const int32_t count, CountOptions(choice));
  if (count > kMostOptions) {
    return Invalid("choice '", choice.label(), "' has ", count, " combinations of candidates: too many for a table");
  }
  absl::flat_hash_map<std::string, int32_t> options;
  for (int32_t option = 0; option < count; ++option) {
    const std::string cell = DecisionToCell(MakeDecision(choice, option));
    const std::string comparable = ComparableCell(cell);
    if (comparable.empty()) {
      return Invalid("choice '", choice.label(), "': candidate '", cell,
                     "' is nothing in a table, as for a choice that is not active: rename it");
    }
    const auto [entry, is_new] = options.emplace(comparable, option);
    if (!is_new) {
      return Invalid("choice '", choice.label(), "': '", DecisionToCell(MakeDecision(choice, entry->second)), "' and '",
                     cell, "' are the same in a table: rename one");
    }
  }
  return options;
}

// "one of '3', '5', '7'".
std::string CellsOf(const v1::Choice& choice) {
  constexpr int32_t kShown = 20;
  std::vector<std::string> cells;
  const int32_t count = *CountOptions(choice);
  for (int32_t option = 0; option < std::min(count, kShown); ++option) {
    cells.push_back(absl::StrCat("'", DecisionToCell(MakeDecision(choice, option)), "'"));
  }
  return absl::StrCat("one of ", absl::StrJoin(cells, ", "), count > kShown ? ", ..." : "");
}

// NAME and STEP of "NAME@STEP"; nullopt: it is no column of a curve.
std::optional<std::pair<std::string, int>> ParseCurve(const std::string& column) {
  const size_t at = column.rfind('@');
  if (at == std::string::npos || at == 0 || at + 1 == column.size()) return std::nullopt;
  const std::string digits = column.substr(at + 1);
  int step = 0;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return absl::ascii_isdigit(c); }) ||
      !absl::SimpleAtoi(digits, &step)) {
    return std::nullopt;
  }
  return std::make_pair(column.substr(0, at), step);
}

}  // namespace

absl::StatusOr<TableFile> ReadTableFile(const std::string& path) {
  TableFile file;
  file.path = path;
  LANISTA_ASSIGN_OR_RETURN(const std::string content, ReadWholeFile(path, kMaxBytes));
  if (absl::StartsWith(content, "\x1f\x8b")) return Invalid(path, ": is compressed with gzip; unpack it");
  file.sha256 = Sha256(content);
  LANISTA_RETURN_IF_ERROR(
      data::ParseCsv(path, content, ',', [&file, &path](int64_t line, std::vector<std::string>& cells) -> absl::Status {
        if (!file.columns.empty()) {
          if (cells.size() != file.columns.size()) {
            return Invalid(path, ":", line, ": ", cells.size(), " cells, but the first line names ",
                           file.columns.size(), " columns");
          }
          file.rows.push_back(std::move(cells));
          file.lines.push_back(line);
          return absl::OkStatus();
        }
        file.header_line = line;
        std::set<std::string> seen;
        for (const std::string& cell : cells) {
          const std::string name(absl::StripAsciiWhitespace(cell));
          if (name.empty()) return Invalid(path, ":", line, ": column ", seen.size() + 1, " has no name");
          if (!seen.insert(name).second) return Invalid(path, ":", line, ": two columns are named '", name, "'");
          file.columns.push_back(name);
        }
        return absl::OkStatus();
      }));
  if (file.rows.empty()) {
    return Invalid(path, ": there are no models: the first line names the columns, and each of the others is a model");
  }
  return file;
}

std::string ModelTable::Place(int64_t line, size_t column) const {
  return absl::StrCat(path_, ":", line, ": column '", columns_[column], "': ");
}

absl::StatusOr<ModelTable> ModelTable::Create(const TableFile& file, const v1::TableConfig& config) {
  ModelTable table;
  table.path_ = file.path;
  table.columns_ = file.columns;
  table.header_line_ = file.header_line;
  LANISTA_RETURN_IF_ERROR(table.FindChoices(config));
  LANISTA_RETURN_IF_ERROR(table.FindMetrics());
  LANISTA_RETURN_IF_ERROR(table.FindDefaults(config));
  for (size_t i = 0; i < file.rows.size(); ++i) {
    LANISTA_RETURN_IF_ERROR(table.AddRow(file.rows[i], file.lines[i]));
  }
  return table;
}

absl::Status ModelTable::FindChoices(const v1::TableConfig& config) {
  std::map<size_t, std::string> taken;
  for (const v1::TableColumnConfig& named : config.column()) {
    const auto found = std::find(columns_.begin(), columns_.end(), named.column());
    if (found == columns_.end()) {
      return Invalid(path_, ":", header_line_, ": there is no column '", named.column(), "' for the choice '",
                     named.label(), "'; there are ", absl::StrJoin(columns_, ", "),
                     "; name it with column { label column }");
    }
    const size_t column = static_cast<size_t>(found - columns_.begin());
    const auto [entry, is_new] = taken.emplace(column, named.label());
    if (!is_new) {
      return Invalid(Place(header_line_, column), "it is the column of two choices, '", entry->second, "' and '",
                     named.label(), "'");
    }
    choices_.push_back({named.label(), column});
  }
  return absl::OkStatus();
}

absl::Status ModelTable::FindMetrics() {
  std::set<size_t> taken;
  for (const ChoiceColumn& choice : choices_) taken.insert(choice.column);
  // The steps of each curve, with their columns.
  std::map<std::string, std::map<int, size_t>> curves;
  for (size_t column = 0; column < columns_.size(); ++column) {
    if (taken.count(column) > 0) continue;
    const auto curve = ParseCurve(columns_[column]);
    if (!curve.has_value()) {
      metrics_.push_back({columns_[column], column, 0});
      continue;
    }
    if (!curves[curve->first].emplace(curve->second, column).second) {
      return Invalid(Place(header_line_, column), "step ", curve->second, " of '", curve->first, "' is there twice");
    }
    metrics_.push_back({curve->first, column, curve->second});
  }
  for (const auto& [name, columns] : curves) {
    int expected = 1;
    for (const auto& [step, column] : columns) {
      if (step != expected) {
        return Invalid(Place(header_line_, column), "steps count from 1 without gaps, and there is no column '", name,
                       "@", expected, "'");
      }
      ++expected;
    }
    steps_ = std::max(steps_, static_cast<int>(columns.size()));
  }
  // A curve's values in the order of its steps.
  std::stable_sort(metrics_.begin(), metrics_.end(),
                   [](const MetricColumn& a, const MetricColumn& b) { return a.step < b.step; });
  return absl::OkStatus();
}

absl::Status ModelTable::FindDefaults(const v1::TableConfig& config) {
  default_metrics_.assign(config.default_metric().begin(), config.default_metric().end());
  if (default_metrics_.empty()) default_metrics_.push_back(kDefaultMetric);
  std::set<std::string> names;
  for (const MetricColumn& metric : metrics_) names.insert(metric.name);
  for (const std::string& name : default_metrics_) {
    if (names.count(name) > 0) continue;
    const std::string known =
        names.empty() ? "all columns are choices" : absl::StrCat("the metrics are ", absl::StrJoin(names, ", "));
    return Invalid(path_, ":", header_line_, ": there is no metric '", name, "' to be `default`; ", known,
                   config.default_metric().empty() ? ": name one with default_metric" : "");
  }
  return absl::OkStatus();
}

absl::Status ModelTable::AddRow(const std::vector<std::string>& cells, int64_t line) {
  Row row;
  row.line = line;
  for (const ChoiceColumn& choice : choices_) row.choices.push_back(ComparableCell(cells[choice.column]));
  // How far each curve has come.
  std::map<std::string, int> reached;
  for (const MetricColumn& metric : metrics_) {
    const absl::string_view cell = absl::StripAsciiWhitespace(cells[metric.column]);
    if (cell.empty()) {
      row.metrics.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const auto number = ParseNumber(cell);
    if (!number.has_value()) {
      return Invalid(Place(line, metric.column), "'", data::ShortField(cell),
                     "' is not a finite number; each column that is no choice holds a metric");
    }
    if (metric.step > 0 && ++reached[metric.name] != metric.step) {
      return Invalid(Place(line, metric.column), "an earlier step of '", metric.name, "' has no value");
    }
    row.metrics.push_back(*number);
  }
  const auto [entry, is_new] = row_of_.emplace(KeyOf(row.choices), static_cast<int>(rows_.size()));
  if (!is_new) return Invalid(path_, ":", line, ": the same model as on line ", rows_[entry->second].line);
  rows_.push_back(std::move(row));
  return absl::OkStatus();
}

absl::Status ModelTable::Check(const v1::SpaceSpec& spec) const {
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(spec));
  if (!space.complete())
    return Invalid(path_, ": a table needs a space whose choices are all known; this one's are not");
  // The place in `choices_` of each choice of the space.
  std::vector<size_t> places;
  std::vector<absl::flat_hash_map<std::string, int32_t>> options_by_cell;
  for (const v1::Choice& choice : spec.choices()) {
    const auto found = std::find_if(choices_.begin(), choices_.end(),
                                    [&choice](const ChoiceColumn& column) { return column.label == choice.label(); });
    places.push_back(static_cast<size_t>(found - choices_.begin()));
    LANISTA_ASSIGN_OR_RETURN(auto by_cell, OptionsByCell(choice));
    options_by_cell.push_back(std::move(by_cell));
  }
  for (const ChoiceColumn& column : choices_) {
    if (std::any_of(spec.choices().begin(), spec.choices().end(),
                    [&column](const v1::Choice& choice) { return choice.label() == column.label; })) {
      continue;
    }
    return Invalid("column: the space has no choice '", column.label, "'");
  }
  for (const Row& row : rows_) {
    Space::Options options(space.choice_count(), -1);
    for (int i = 0; i < space.choice_count(); ++i) {
      const v1::Choice& choice = spec.choices(i);
      const ChoiceColumn& column = choices_[places[i]];
      const std::string& cell = row.choices[places[i]];
      if (!space.IsActive(i, options)) {
        if (cell.empty()) continue;
        return Invalid(Place(row.line, column.column), "must be empty: the choice '", choice.label(),
                       "' is not active in this model");
      }
      const auto option = options_by_cell[i].find(cell);
      if (option == options_by_cell[i].end()) {
        return Invalid(Place(row.line, column.column), "is ", cell.empty() ? "empty" : "no candidate", "; the choice '",
                       choice.label(), "' takes ", CellsOf(choice));
      }
      options[i] = option->second;
    }
  }
  return absl::OkStatus();
}

std::map<std::string, double> ModelTable::MetricsAt(const Row& row, int step) const {
  std::map<std::string, double> values;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    if (metrics_[i].step == step && !std::isnan(row.metrics[i])) values[metrics_[i].name] = row.metrics[i];
  }
  return values;
}

absl::StatusOr<ModelTable::Results> ModelTable::Find(const v1::Sample& sample, uint64_t seed) const {
  std::vector<std::string> cells(choices_.size());
  for (const v1::Decision& decision : sample.decisions()) {
    const auto found = std::find_if(choices_.begin(), choices_.end(), [&decision](const ChoiceColumn& column) {
      return column.label == decision.label();
    });
    if (found == choices_.end()) {
      return absl::NotFoundError(absl::StrCat(path_, " has no column for the choice '", decision.label(), "'"));
    }
    cells[static_cast<size_t>(found - choices_.begin())] = ComparableCell(DecisionToCell(decision));
  }
  const auto found = row_of_.find(KeyOf(cells));
  if (found == row_of_.end()) {
    return absl::NotFoundError(absl::StrCat(path_, " has no line for the model ", Space::ToJson(sample)));
  }
  const Row& row = rows_[found->second];
  const std::string& default_metric =
      default_metrics_[MixSeed({seed, StableHash("default_metric")}) % default_metrics_.size()];
  const auto with_default = [&default_metric](std::map<std::string, double> values) {
    const auto value = values.find(default_metric);
    if (value == values.end()) {
      values.erase(kDefaultMetric);
    } else {
      values[kDefaultMetric] = value->second;
    }
    return values;
  };
  Results results;
  std::map<std::string, double> last;
  for (int step = 1; step <= steps_; ++step) {
    std::map<std::string, double> values = MetricsAt(row, step);
    if (values.empty()) break;
    for (const auto& [name, value] : values) last[name] = value;
    results.steps.push_back(with_default(std::move(values)));
  }
  // A metric that has steps alone ends with the last of them.
  for (const MetricColumn& metric : metrics_) {
    if (metric.step == 0) last.erase(metric.name);
  }
  std::map<std::string, double> final = MetricsAt(row, 0);
  final.insert(last.begin(), last.end());
  results.final = with_default(std::move(final));
  return results;
}

}  // namespace lanista
