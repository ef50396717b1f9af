#include "src/views/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/json_line.h"
#include "src/base/metric_names.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

constexpr int kIndent = 2;
// A Pareto front may be as large as the search.
constexpr int kMostBestModels = 50;
// Of the table of failures.
constexpr size_t kMaxKinds = 10;
constexpr size_t kMaxModelsNamed = 10;

// A string as it is, a number with six digits, nothing as "-", all else as JSON.
std::string CellText(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return absl::StrFormat("%.6g", value.get<double>());
  return JsonLine(value);
}

// {"a": 1, "b": "x"} as "a=1 b=x".
std::string PairsText(const Json& object) {
  if (!object.is_object()) return "-";
  return absl::StrJoin(object.items(), " ", [](std::string* out, const auto& item) {
    absl::StrAppend(out, item.key(), "=", CellText(item.value()));
  });
}

// The metrics that models are compared by, the first objective's first.
std::vector<std::string> ObjectiveMetrics(const Json& document) {
  std::vector<std::string> metrics;
  for (const Json& objective : document["objectives"]) metrics.push_back(objective["metric"].get<std::string>());
  return metrics;
}

// One of these metrics, if there are any.
std::string MetricText(const Json& metrics, const std::string& name) {
  return CellText(metrics.is_object() ? metrics.value(name, Json()) : Json());
}

// All metrics but these.
std::string OtherMetricsText(Json metrics, const std::vector<std::string>& shown) {
  for (const std::string& name : shown) {
    if (metrics.is_object()) metrics.erase(name);
  }
  return PairsText(metrics);
}

// "default: MAXIMIZE, flops: MINIMIZE".
std::string ObjectivesText(const Json& objectives) {
  return absl::StrJoin(objectives, ", ", [](std::string* out, const Json& objective) {
    absl::StrAppend(out, CellText(objective["metric"]), ": ", CellText(objective["goal"]));
  });
}

// "params at most 1e+06, latency at least 1 and at most 5".
std::string LimitsText(const Json& constraints) {
  return absl::StrJoin(constraints, ", ", [](std::string* out, const Json& limit) {
    const Json &min = limit["min"], &max = limit["max"];
    absl::StrAppend(out, CellText(limit["metric"]), min.is_null() ? "" : " at least " + CellText(min),
                    min.is_null() || max.is_null() ? "" : " and", max.is_null() ? "" : " at most " + CellText(max));
  });
}

// "18 models: 17 succeeded, 1 failed".
std::string CountsText(const Json& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts.items()) {
    if (name == "total" || count == 0) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.push_back(absl::StrCat(count.get<int>(), " ", words));
  }
  return absl::StrCat(Counted(counts["total"].get<int>(), "model"), parts.empty() ? "" : ": ",
                      absl::StrJoin(parts, ", "));
}

// "SIGNAL 11: message", "EXIT 3: message", "NAN_LOSS: message".
std::string FailureText(const Json& failure) {
  if (failure.is_null()) return "";
  std::string text = failure["reason"].get<std::string>();
  if (!failure["signal"].is_null()) absl::StrAppend(&text, " ", failure["signal"].get<int>());
  const std::string& message = failure["message"].get_ref<const std::string&>();
  if (!message.empty()) absl::StrAppend(&text, ": ", ReasonLine(message));
  return text;
}

// Why a model cannot be the best: its failure, "step 3: 0.81, not among the best 4 of 17" where it was stopped early,
// or "params 1200000 (at most 1000000)" where it breaks a limit.
std::string ReasonText(const Json& model) {
  const Json& stopped = model["stopped"];
  const Json& breaks = model["breaks"];
  if (stopped.is_null() && model["failure"].is_null() && !breaks.is_null()) {
    return ReasonLine(breaks.get_ref<const std::string&>());
  }
  if (stopped.is_null()) return FailureText(model["failure"]);
  return absl::StrCat("step ", stopped["step"].get<int>(), ": ",
                      ReasonLine(stopped["because"].get_ref<const std::string&>()));
}

// A line for each kind of failure, the most frequent first. Failures are of one kind if they differ only in numbers:
// sizes, addresses, line numbers.
std::string FailuresText(const Json& failures, int width) {
  struct Kind {
    std::string text;
    int count = 0;
    std::vector<int> models;
  };
  std::vector<Kind> kinds;
  std::map<std::string, size_t> by_text;
  for (const Json& failure : failures) {
    const std::string text = FailureText(failure);
    const auto [found, is_new] = by_text.emplace(WithoutNumbers(text), kinds.size());
    if (is_new) kinds.push_back({text, 0, {}});
    Kind& kind = kinds[found->second];
    kind.count += failure["count"].get<int>();
    for (const Json& model : failure["models"]) kind.models.push_back(model.get<int>());
  }
  std::stable_sort(kinds.begin(), kinds.end(), [](const Kind& a, const Kind& b) { return a.count > b.count; });
  TextTable table({{"count", Align::kRight}, {"models", Align::kLeft}, {"failure", Align::kLeft}});
  for (size_t i = 0; i < std::min(kinds.size(), kMaxKinds); ++i) {
    std::vector<int>& models = kinds[i].models;
    std::sort(models.begin(), models.end());
    models.resize(std::min(models.size(), kMaxModelsNamed));
    const bool more = static_cast<size_t>(kinds[i].count) > models.size();
    table.AddRow(
        {absl::StrCat(kinds[i].count), absl::StrCat(absl::StrJoin(models, ", "), more ? ", ..." : ""), kinds[i].text});
  }
  table.Fit(width - kIndent);
  std::string text = table.ToText(kIndent);
  if (kinds.size() > kMaxKinds) {
    absl::StrAppend(&text, std::string(kIndent, ' '), "and ", Counted(kinds.size() - kMaxKinds, "other kind"),
                    " of failure (--json shows all)\n");
  }
  return text;
}

// The choices of some models as columns of a table: those in which the models differ. What they share is said once,
// above the table.
class ChoiceColumns {
 public:
  // `samples`: one for each model, as JSON objects; they must outlive this.
  explicit ChoiceColumns(const std::vector<const Json*>& samples) {
    struct Seen {
      const Json* first = nullptr;
      size_t count = 0;
      bool equal = true;
    };
    std::vector<std::string> labels;
    std::map<std::string, Seen> seen;
    for (const Json* sample : samples) {
      if (!sample->is_object()) continue;
      for (const auto& [label, value] : sample->items()) {
        Seen& choice = seen[label];
        if (choice.first == nullptr) {
          choice.first = &value;
          labels.push_back(label);
        }
        ++choice.count;
        choice.equal = choice.equal && value == *choice.first;
      }
    }
    for (const std::string& label : labels) {
      const Seen& choice = seen[label];
      if (choice.equal && choice.count == samples.size()) {
        shared_[label] = *choice.first;
      } else {
        differing_.push_back(label);
      }
    }
    one_model_ = samples.size() == 1;
  }

  // "all models: act=relu dropout=0.5" as a line; nothing where nothing is shared.
  std::string SharedText(int indent, int width) const {
    if (shared_.empty()) return "";
    const std::string line =
        absl::StrCat(std::string(indent, ' '), one_model_ ? "sample: " : "all models: ", Printable(PairsText(shared_)));
    return absl::StrCat(Ellipsize(line, width), "\n");
  }

  void AddColumns(std::vector<TextTable::Column>* columns) const {
    for (const std::string& label : differing_) columns->push_back({label, Align::kLeft, /*optional=*/true});
  }

  void AddCells(const Json& sample, std::vector<std::string>* cells) const {
    for (const std::string& label : differing_) {
      const bool has = sample.is_object() && sample.contains(label);
      cells->push_back(has ? CellText(sample[label]) : "-");
    }
  }

  // The line below a table that says how many columns had no room; empty for 0.
  static std::string LeftOutText(int columns, int indent) {
    if (columns == 0) return "";
    return absl::StrCat(std::string(indent, ' '), "(", Counted(columns, "more choice"), ": --json shows all)\n");
  }

 private:
  Json shared_ = Json::object();
  std::vector<std::string> differing_;
  bool one_model_ = false;
};

// How long the attempt that decides, or the latest one, took; null where that is not known.
Json TookJson(const Json& attempts) { return attempts.empty() ? Json() : attempts.back()["seconds"]; }

}  // namespace

std::string ShowText(const Json& document, int width) {
  const std::string& reason = document["reason"].get_ref<const std::string&>();
  const auto line = [](absl::string_view name, const std::string& value) {
    return absl::StrCat(name, std::string(12 - name.size(), ' '), OneLine(value), "\n");
  };
  const std::string& name = document["name"].get_ref<const std::string&>();
  const Json& size = document["space_size"];
  const std::vector<std::string> metrics = ObjectiveMetrics(document);
  const bool only_default = metrics.size() == 1 && metrics[0] == kDefaultMetric;
  const Json& limits = document["constraints"];
  const Json& nearest = document["nearest"];
  const Json& waiting_for = document["waiting_for"];
  std::string text;
  absl::StrAppend(
      &text, line("experiment", document["id"].get<std::string>()), line("name", name),
      line("status", absl::StrCat(CellText(document["status"]), reason.empty() ? "" : ": ", ReasonLine(reason))),
      waiting_for.is_null() ? "" : line("waits for", waiting_for.get<std::string>()),
      line("space", SpaceSizeText(size.is_null() ? "" : size.get<std::string>())),
      only_default ? "" : line("objectives", ObjectivesText(document["objectives"])),
      limits.empty() ? "" : line("limits", LimitsText(limits)), line("tried", CountsText(document["models"])),
      line("created", CellText(document["created"])), line("took", DurationText(document["seconds"].get<double>())));
  if (!document["best"].empty()) {
    absl::StrAppend(&text, metrics.size() > 1 ? "\nPareto front: no other model beats these\n" : "\ntop models\n",
                    BestText(document, width));
  }
  if (!nearest.is_null()) {
    absl::StrAppend(&text, "\nno model is within the limits; the nearest: model ", CellText(nearest["model"]), ", ",
                    OneLine(CellText(nearest["breaks"])), "\n");
  }
  if (!document["failures"].empty()) {
    absl::StrAppend(&text, "\nfailures\n", FailuresText(document["failures"], width));
  }
  return text;
}

std::string BestText(const Json& document, int width) {
  std::vector<const Json*> samples;
  for (const Json& model : document["best"]) samples.push_back(&model["sample"]);
  const ChoiceColumns choices(samples);
  const std::vector<std::string> metrics = ObjectiveMetrics(document);
  std::vector<TextTable::Column> columns = {{"rank", Align::kRight}, {"model", Align::kRight}};
  for (const std::string& metric : metrics) columns.push_back({metric, Align::kRight});
  columns.push_back({"metrics", Align::kLeft});
  choices.AddColumns(&columns);
  TextTable table(std::move(columns));
  int rank = 0;
  const int left_out_models = static_cast<int>(document["best"].size()) - kMostBestModels;
  for (const Json& model : document["best"]) {
    if (rank == kMostBestModels) break;
    std::vector<std::string> cells = {absl::StrCat(++rank), CellText(model["model"])};
    for (const std::string& metric : metrics) cells.push_back(MetricText(model["metrics"], metric));
    cells.push_back(OtherMetricsText(model["metrics"], metrics));
    choices.AddCells(model["sample"], &cells);
    table.AddRow(std::move(cells));
  }
  const int left_out = table.Fit(width - kIndent);
  return absl::StrCat(
      choices.SharedText(kIndent, width), table.ToText(kIndent),
      left_out_models <= 0 ? "" : absl::StrCat("  and ", Counted(left_out_models, "more model"), " (--json)\n"),
      ChoiceColumns::LeftOutText(left_out, kIndent));
}

std::string TrialsText(const Json& document, int width) {
  std::vector<const Json*> samples;
  for (const Json& model : document["models"]) samples.push_back(&model["sample"]);
  const ChoiceColumns choices(samples);
  const std::vector<std::string> objectives = ObjectiveMetrics(document);
  std::vector<TextTable::Column> columns = {{"model", Align::kRight}, {"status", Align::kLeft}};
  for (const std::string& metric : objectives) columns.push_back({metric, Align::kRight});
  columns.insert(columns.end(), {{"took", Align::kRight}, {"attempts", Align::kRight}, {"device", Align::kLeft}});
  choices.AddColumns(&columns);
  columns.push_back({"reason", Align::kLeft});
  TextTable table(std::move(columns));
  for (const Json& model : document["models"]) {
    const Json& metrics = model["metrics"];
    // A model that still runs shows its latest metrics.
    const Json* shown = &metrics["final"];
    if (shown->is_null() && !metrics["intermediate"].empty()) shown = &metrics["intermediate"].back()["metrics"];
    const Json& attempts = model["attempts"];
    const Json took = TookJson(attempts);
    std::vector<std::string> cells = {CellText(model["id"]), CellText(model["status"])};
    for (const std::string& metric : objectives) cells.push_back(MetricText(*shown, metric));
    cells.insert(cells.end(), {took.is_null() ? "-" : DurationText(took.get<double>()), absl::StrCat(attempts.size()),
                               attempts.empty() ? "-" : CellText(attempts.back()["device"])});
    choices.AddCells(model["sample"], &cells);
    cells.push_back(ReasonText(model));
    table.AddRow(std::move(cells));
  }
  const int left_out = table.Fit(width);
  return absl::StrCat(choices.SharedText(0, width), table.ToText(), ChoiceColumns::LeftOutText(left_out, 0));
}

std::string ListText(const Json& document, int width) {
  TextTable table({{"id", Align::kLeft},
                   {"status", Align::kLeft},
                   {"models", Align::kRight},
                   {"failed", Align::kRight},
                   {"best", Align::kRight},
                   {"created", Align::kLeft},
                   {"took", Align::kRight},
                   {"reason", Align::kLeft}});
  for (const Json& experiment : document["experiments"]) {
    const Json& counts = experiment["models"];
    const Json& seconds = experiment["seconds"];
    const Json& best = experiment["best"];
    // Heads of earlier versions do not say it in a list.
    const auto waiting_for = experiment.find("waiting_for");
    std::vector<std::string> reasons;
    if (std::string reason = ReasonLine(CellText(experiment["reason"])); !reason.empty()) {
      reasons.push_back(std::move(reason));
    }
    if (waiting_for != experiment.end() && !waiting_for->is_null()) {
      reasons.push_back(absl::StrCat("waits for ", OneLine(CellText(*waiting_for))));
    }
    table.AddRow({CellText(experiment["id"]), CellText(experiment["status"]),
                  counts.is_null() ? "-" : CellText(counts["total"]),
                  counts.is_null() ? "-" : CellText(counts["failed"]),
                  best.empty() ? "-" : MetricText(best[0]["metrics"], ObjectiveMetrics(experiment)[0]),
                  CellText(experiment["created"]), seconds.is_null() ? "-" : DurationText(seconds.get<double>()),
                  absl::StrJoin(reasons, "; ")});
  }
  table.Fit(width);
  return table.ToText();
}

std::string WithoutNumbers(absl::string_view text) {
  std::string kind;
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) {
      kind += c;
    } else if (kind.empty() || kind.back() != '#') {
      kind += '#';
    }
  }
  return kind;
}

std::string SpaceSizeText(const std::string& size) {
  if (size.empty()) return "an unknown number of models";
  return absl::StrCat(size, size == "1" ? " model" : " models");
}

std::string DurationText(double seconds) {
  if (seconds < 59.95) return absl::StrFormat("%.1fs", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return absl::StrFormat("%dm %02ds", whole / 60, whole % 60);
  return absl::StrFormat("%dh %02dm", whole / 3600, whole % 3600 / 60);
}

}  // namespace lanista
