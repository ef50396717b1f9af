#include "src/views/tables.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;
using Align = TextTable::Align;

// Code points of UTF-8: bytes that do not go on with one.
int Width(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string OneLine(const std::string& text) {
  std::string line;
  for (const char c : text) line.push_back(absl::ascii_iscntrl(c) ? ' ' : c);
  return line;
}

// A string as it is, a number with six digits, nothing as "-", all else as JSON.
std::string CellText(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return absl::StrFormat("%.6g", value.get<double>());
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// {"a": 1, "b": "x"} as "a=1 b=x".
std::string PairsText(const Json& object) {
  if (!object.is_object()) return "-";
  return absl::StrJoin(object.items(), " ", [](std::string* out, const auto& item) {
    absl::StrAppend(out, item.key(), "=", CellText(item.value()));
  });
}

// All metrics but `default`.
std::string OtherMetricsText(Json metrics) {
  if (metrics.is_object()) metrics.erase("default");
  return PairsText(metrics);
}

// "18 models: 17 succeeded, 1 failed".
std::string CountsText(const Json& counts) {
  const int total = counts["total"].get<int>();
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts.items()) {
    if (name == "total" || count == 0) continue;
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    parts.push_back(absl::StrCat(count.get<int>(), " ", words));
  }
  return absl::StrCat(total, total == 1 ? " model" : " models", parts.empty() ? "" : ": ", absl::StrJoin(parts, ", "));
}

// "SIGNAL 11: message", "EXIT 3: message", "NAN_LOSS: message".
std::string FailureText(const Json& failure) {
  if (failure.is_null()) return "";
  std::string text = failure["reason"].get<std::string>();
  if (!failure["signal"].is_null()) absl::StrAppend(&text, " ", failure["signal"].get<int>());
  const std::string& message = failure["message"].get_ref<const std::string&>();
  if (!message.empty()) absl::StrAppend(&text, ": ", message);
  return text;
}

std::string FailuresText(const Json& failures) {
  TextTable table({{"count", Align::kRight}, {"models", Align::kLeft}, {"failure", Align::kLeft}});
  for (const Json& failure : failures) {
    const Json& models = failure["models"];
    std::string named = absl::StrJoin(
        models, ", ", [](std::string* out, const Json& model) { absl::StrAppend(out, model.get<int>()); });
    if (failure["count"].get<size_t>() > models.size()) absl::StrAppend(&named, ", ...");
    table.AddRow({CellText(failure["count"]), named, FailureText(failure)});
  }
  return table.ToText(2);
}

}  // namespace

void TextTable::AddRow(std::vector<std::string> cells) {
  for (std::string& cell : cells) cell = OneLine(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToText(int indent) const {
  std::vector<std::string> header;
  std::vector<int> widths;
  for (const auto& column : columns_) {
    header.push_back(column.first);
    widths.push_back(Width(column.first));
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  const auto append = [&](const std::vector<std::string>& cells) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - Width(cells[i]), ' ');
      const bool right = columns_[i].second == Align::kRight;
      absl::StrAppend(&line, i == 0 ? "" : "  ", right ? padding : "", cells[i], right ? "" : padding);
    }
    absl::StrAppend(&text, absl::StripTrailingAsciiWhitespace(line), "\n");
  };
  append(header);
  for (const auto& row : rows_) append(row);
  return text;
}

std::string ShowText(const Json& document) {
  const std::string& reason = document["reason"].get_ref<const std::string&>();
  const auto line = [](absl::string_view name, const std::string& value) {
    return absl::StrFormat("%-11s %s\n", name, OneLine(value));
  };
  const std::string& name = document["name"].get_ref<const std::string&>();
  const Json& size = document["space_size"];
  std::string text;
  absl::StrAppend(&text, line("experiment", document["id"].get<std::string>()), line("name", name),
                  line("status", absl::StrCat(CellText(document["status"]), reason.empty() ? "" : ": ", reason)),
                  line("space", size.is_null() ? "of unknown size" : CellText(size) + " models"),
                  line("tried", CountsText(document["models"])), line("created", CellText(document["created"])),
                  line("took", DurationText(document["seconds"].get<double>())));
  if (!document["best"].empty()) absl::StrAppend(&text, "\ntop models\n", BestText(document));
  if (!document["failures"].empty()) absl::StrAppend(&text, "\nfailures\n", FailuresText(document["failures"]));
  return text;
}

std::string BestText(const Json& document) {
  TextTable table({{"rank", Align::kRight},
                   {"model", Align::kRight},
                   {"default", Align::kRight},
                   {"metrics", Align::kLeft},
                   {"sample", Align::kLeft}});
  int rank = 0;
  for (const Json& model : document["best"]) {
    table.AddRow({absl::StrCat(++rank), CellText(model["model"]), CellText(model["default"]),
                  OtherMetricsText(model["metrics"]), PairsText(model["sample"])});
  }
  return table.ToText(2);
}

std::string TrialsText(const Json& document) {
  TextTable table({{"model", Align::kRight},
                   {"status", Align::kLeft},
                   {"default", Align::kRight},
                   {"attempts", Align::kRight},
                   {"device", Align::kLeft},
                   {"sample", Align::kLeft},
                   {"failure", Align::kLeft}});
  for (const Json& model : document["models"]) {
    const Json& metrics = model["metrics"];
    // Of a model that still runs: the latest.
    const Json* shown = &metrics["final"];
    if (shown->is_null() && !metrics["intermediate"].empty()) shown = &metrics["intermediate"].back()["metrics"];
    const Json& attempts = model["attempts"];
    table.AddRow({CellText(model["id"]), CellText(model["status"]),
                  shown->is_object() ? CellText(shown->value("default", Json())) : "-", absl::StrCat(attempts.size()),
                  attempts.empty() ? "-" : CellText(attempts.back()["device"]), PairsText(model["sample"]),
                  FailureText(model["failure"])});
  }
  return table.ToText();
}

std::string ListText(const Json& document) {
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
    table.AddRow({CellText(experiment["id"]), CellText(experiment["status"]),
                  counts.is_null() ? "-" : CellText(counts["total"]),
                  counts.is_null() ? "-" : CellText(counts["failed"]), CellText(experiment["best"]),
                  CellText(experiment["created"]), seconds.is_null() ? "-" : DurationText(seconds.get<double>()),
                  CellText(experiment["reason"])});
  }
  return table.ToText();
}

std::string DurationText(double seconds) {
  if (seconds < 59.95) return absl::StrFormat("%.1fs", seconds);
  const int64_t whole = std::llround(seconds);
  if (whole < 3600) return absl::StrFormat("%dm %02ds", whole / 60, whole % 60);
  return absl::StrFormat("%dh %02dm", whole / 3600, whole % 3600 / 60);
}

}  // namespace lanista
