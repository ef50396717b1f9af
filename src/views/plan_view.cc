#include "src/views/plan_view.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/space/space.h"
#include "src/views/text_table.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

Json OrNull(const std::string& text) { return text.empty() ? Json() : Json(text); }

// "models 1-4, 7", "model 3".
std::string ModelsText(const std::vector<int>& models) {
  std::vector<std::string> ranges;
  for (size_t begin = 0, end = 0; begin < models.size(); begin = end) {
    for (end = begin + 1; end < models.size() && models[end] == models[end - 1] + 1;) ++end;
    ranges.push_back(end - begin == 1 ? absl::StrCat(models[begin])
                                      : absl::StrCat(models[begin], "-", models[end - 1]));
  }
  return absl::StrCat(models.size() == 1 ? "model " : "models ", absl::StrJoin(ranges, ", "));
}

std::string WorkText(const Json& work) {
  if (work["first"].is_null()) return work["steps"] == 0 ? "load the batch" : "the whole model";
  const std::string first = work["first"], last = work["last"];
  return first == last ? first : absl::StrCat(first, " ... ", last);
}

}  // namespace

Json WorkJson(const google::protobuf::RepeatedPtrField<v1::ExplainedWork>& work) {
  Json list = Json::array();
  for (const v1::ExplainedWork& one : work) {
    list.push_back({{"models", one.models()},
                    {"steps", one.steps()},
                    {"first", OrNull(one.first())},
                    {"last", OrNull(one.last())},
                    {"own_because", OrNull(one.own_because())}});
  }
  return list;
}

Json PlanDocument(const v1::PlanExplanation& plan) {
  Json document = {{"samples", Json::array()}, {"trials", Json::array()}};
  for (const v1::Sample& sample : plan.samples()) document["samples"].push_back(Json::parse(Space::ToJson(sample)));
  for (const v1::ExplainedTrial& trial : plan.trials()) {
    document["trials"].push_back({{"models", trial.models()},
                                  {"alone_because", OrNull(trial.alone_because())},
                                  {"memory", trial.memory() > 0 ? Json(trial.memory()) : Json()},
                                  {"work", WorkJson(trial.work())}});
  }
  return document;
}

std::string PlanText(const Json& document) {
  std::string text;
  for (size_t i = 0; i < document["samples"].size(); ++i) {
    absl::StrAppend(&text, "model ", i + 1, ": ", Printable(document["samples"][i].dump()), "\n");
  }
  for (const Json& trial : document["trials"]) {
    const auto models = trial["models"].get<std::vector<int>>();
    absl::StrAppend(&text, "\n", models.size() == 1 ? "a trial of " : "a merged trial of ", ModelsText(models));
    if (!trial["memory"].is_null()) {
      absl::StrAppendFormat(&text, ", about %.1f MiB", trial["memory"].get<double>() / (1 << 20));
    }
    if (!trial["alone_because"].is_null()) {
      absl::StrAppend(&text, ", alone because ", OneLine(trial["alone_because"].get<std::string>()));
    }
    text += "\n";
    TextTable table({{"work", TextTable::Align::kLeft},
                     {"steps", TextTable::Align::kRight},
                     {"done once for", TextTable::Align::kLeft},
                     {"not shared because", TextTable::Align::kLeft}});
    for (const Json& work : trial["work"]) {
      const Json& own = work["own_because"];
      table.AddRow({WorkText(work), work["first"].is_null() ? "" : work["steps"].dump(),
                    ModelsText(work["models"].get<std::vector<int>>()), own.is_null() ? "" : own.get<std::string>()});
    }
    text += table.ToText(2);
  }
  return text;
}

}  // namespace lanista
