#include "src/views/trials_csv.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/space/space.h"
#include "src/views/trials_document.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// A model that succeeded.
struct Line {
  // By label.
  std::map<std::string, std::string> choices;
  std::map<std::string, double> metrics;
  // `default` after each step, up to one that has none.
  std::vector<double> curve;
};

// The evaluator `table` reads no NaN and no infinity.
bool IsFinite(const Json& value) { return value.is_number() && std::isfinite(value.get<double>()); }

Line LineOf(const Json& model, const v1::Sample& sample) {
  Line line;
  for (const v1::Decision& decision : sample.decisions()) line.choices[decision.label()] = DecisionToCell(decision);
  for (const auto& metric : model["metrics"]["final"].items()) {
    if (IsFinite(metric.value())) line.metrics[metric.key()] = metric.value().get<double>();
  }
  for (const Json& step : model["metrics"]["intermediate"]) {
    const Json value = step["metrics"].value(kDefaultMetric, Json());
    if (step["step"].get<size_t>() != line.curve.size() || !IsFinite(value)) break;
    line.curve.push_back(value.get<double>());
  }
  return line;
}

// Those of the space in its order; then those that only models of a space that is not known completely have.
std::vector<std::string> LabelsOf(const v1::SpaceSpec& space, const std::vector<Line>& lines) {
  std::vector<std::string> labels;
  std::set<std::string> seen;
  for (const v1::Choice& choice : space.choices()) {
    labels.push_back(choice.label());
    seen.insert(choice.label());
  }
  for (const Line& line : lines) {
    for (const auto& [label, cell] : line.choices) {
      if (seen.insert(label).second) labels.push_back(label);
    }
  }
  return labels;
}

std::vector<std::string> MetricsOf(const std::vector<Line>& lines) {
  std::set<std::string> names;
  for (const Line& line : lines) {
    for (const auto& [name, value] : line.metrics) names.insert(name);
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::stable_partition(sorted.begin(), sorted.end(), [](const std::string& name) { return name == kDefaultMetric; });
  return sorted;
}

class Writer {
 public:
  explicit Writer(const TrialsCsvOptions& options) : options_(options) {}

  void Cell(const std::string& text) {
    absl::StrAppend(&text_, at_start_ ? "" : ",", Quoted(options_.for_terminal ? Printable(text) : text));
    at_start_ = false;
  }
  // The shortest text that is read back as the same number.
  void Cell(double number) {
    constexpr double kMostDigits = 1e15;
    const bool whole = std::floor(number) == number && std::abs(number) < kMostDigits;
    Cell(whole ? absl::StrCat(static_cast<int64_t>(number)) : Json(number).dump());
  }

  void EndLine() {
    text_ += '\n';
    at_start_ = true;
  }

  std::string TakeText() { return std::move(text_); }

 private:
  static std::string Quoted(const std::string& text) {
    if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
    return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
  }

  const TrialsCsvOptions options_;
  std::string text_;
  bool at_start_ = true;
};

}  // namespace

absl::StatusOr<std::string> TrialsCsv(const JournalReader& reader, const Json& document,
                                      const TrialsCsvOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::SpaceSpec> space, reader.Space());
  if (!space.has_value()) return absl::FailedPreconditionError("the experiment has not learnt its space yet");
  std::map<int, v1::Sample> samples;
  LANISTA_RETURN_IF_ERROR(reader.VisitModels([&samples](ModelRecord model) {
    samples[model.model] = std::move(model.sample);
    return absl::OkStatus();
  }));
  std::vector<Line> lines;
  size_t steps = 0;
  for (const Json& model : document["models"]) {
    if (model["status"] != "SUCCEEDED") continue;
    lines.push_back(LineOf(model, samples[model["id"].get<int>()]));
    steps = std::max(steps, lines.back().curve.size());
  }

  const std::vector<std::string> labels = LabelsOf(*space, lines);
  const std::vector<std::string> metrics = MetricsOf(lines);
  Writer writer(options);
  std::set<std::string> columns;
  const auto add_column = [&](const std::string& name) {
    writer.Cell(name);
    return columns.insert(name).second;
  };
  for (const std::string& label : labels) add_column(label);
  for (const std::string& metric : metrics) {
    if (add_column(metric)) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("'", metric, "' is a choice and a metric: a table cannot have two columns of one name"));
  }
  for (size_t step = 1; step <= steps; ++step) add_column(absl::StrCat(kDefaultMetric, "@", step));
  writer.EndLine();

  for (const Line& line : lines) {
    for (const std::string& label : labels) {
      const auto choice = line.choices.find(label);
      writer.Cell(choice == line.choices.end() ? "" : choice->second);
    }
    for (const std::string& name : metrics) {
      const auto metric = line.metrics.find(name);
      if (metric == line.metrics.end()) {
        writer.Cell(std::string());
      } else {
        writer.Cell(metric->second);
      }
    }
    for (size_t step = 0; step < steps; ++step) {
      if (step < line.curve.size()) {
        writer.Cell(line.curve[step]);
      } else {
        writer.Cell(std::string());
      }
    }
    writer.EndLine();
  }
  return writer.TakeText();
}

absl::StatusOr<Json> TrialsCsvDocument(const JournalReader& reader, int limit, const std::string& sort,
                                       const TrialsCsvOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  LANISTA_ASSIGN_OR_RETURN(const Json document, TrialsDocument(reader, {"SUCCEEDED", limit, sort}));
  LANISTA_ASSIGN_OR_RETURN(const std::string csv, TrialsCsv(reader, document, options));
  return Json{{"left_out", counts.total - counts.succeeded},
              {"lines", std::vector<std::string>(absl::StrSplit(csv, '\n'))}};
}

}  // namespace lanista
