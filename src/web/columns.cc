#include "src/web/columns.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/device_name.h"
#include "src/goals/ranking.h"
#include "src/views/document_parts.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

Json NumberJson(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

// Milliseconds from `begin`, which is so many since 1970, to a time.
Json MillisJson(const std::optional<absl::Time>& time, int64_t begin = 0) {
  return time.has_value() ? Json(absl::ToUnixMillis(*time) - begin) : Json();
}

// An entry that all models have stands alone: without the list, and once. Entries that are lists stay in theirs.
Json Column(Json entries) {
  if (entries.empty() || entries.front().is_array()) return entries;
  const auto is_first = [&entries](const Json& entry) { return entry == entries.front(); };
  if (!std::all_of(entries.begin(), entries.end(), is_first)) return entries;
  Json entry = std::move(entries.front());
  return entry;
}

// Words by number, in the order in which they come.
class Words {
 public:
  int NumberOf(const std::string& word) {
    const auto [place, is_new] = numbers_.emplace(word, static_cast<int>(numbers_.size()));
    if (is_new) words_.push_back(word);
    return place->second;
  }
  const Json& words() const { return words_; }

 private:
  std::map<std::string, int> numbers_;
  Json words_ = Json::array();
};

bool HasMetrics(const TableModel& model) {
  return model.outcome.has_value() && !model.outcome->metrics().values().empty();
}

// The fronts of models that may be among the best.
std::map<int, int> FrontsOf(const ExperimentTable& table) {
  std::vector<RankedModel> ranked;
  for (const TableModel& model : table.models()) {
    if (!model.outcome.has_value()) continue;
    std::optional<std::vector<double>> values = table.goals().BestValues(*model.outcome);
    if (values.has_value()) ranked.push_back({model.model, *std::move(values)});
  }
  SortBestFirst(ranked);
  std::map<int, int> fronts;
  for (const RankedModel& model : ranked) fronts[model.model] = model.front;
  return fronts;
}

Json ChosenJson(const TableModel& model, size_t choice) {
  if (choice >= model.chosen.size() || model.chosen[choice].empty()) return Json();
  const std::vector<int32_t>& chosen = model.chosen[choice];
  return chosen.size() == 1 ? Json(chosen[0]) : Json(chosen);
}

Json ChoicesJson(const ExperimentTable& table) {
  Json choices = Json::array();
  for (size_t i = 0; i < table.choices().size(); ++i) {
    const TableChoice& choice = table.choices()[i];
    Json candidates = Json::array();
    for (const std::string& candidate : choice.candidates) candidates.push_back(Json::parse(candidate, nullptr, false));
    Json chosen = Json::array();
    for (const TableModel& model : table.models()) chosen.push_back(ChosenJson(model, i));
    choices.push_back({{"label", choice.label},
                       {"kind", choice.kind},
                       {"candidates", std::move(candidates)},
                       {"chosen", Column(std::move(chosen))}});
  }
  return choices;
}

// The final metrics, `default` first and then by name.
Json MetricsJson(const ExperimentTable& table) {
  std::set<std::string> names;
  for (const TableModel& model : table.models()) {
    if (!model.outcome.has_value()) continue;
    for (const auto& [name, value] : model.outcome->metrics().values()) names.insert(name);
  }
  std::vector<std::string> order(names.begin(), names.end());
  std::stable_partition(order.begin(), order.end(), [](const std::string& name) { return name == "default"; });
  Json metrics = Json::object();
  for (const std::string& name : order) {
    Json values = Json::array();
    for (const TableModel& model : table.models()) {
      Json value;
      if (model.outcome.has_value()) {
        const auto found = model.outcome->metrics().values().find(name);
        if (found != model.outcome->metrics().values().end()) value = NumberJson(found->second);
      }
      values.push_back(std::move(value));
    }
    metrics[name] = Column(std::move(values));
  }
  return metrics;
}

// Metrics that have curves: `default` first, and then in the order in which they came.
Json ReportedJson(const ExperimentTable& table) {
  Json names = Json::array();
  for (size_t i = 0; i < table.metric_names().size(); ++i) {
    const auto reports = [i](const TableModel& model) {
      return i < model.curves.size() && !model.curves[i].values.empty();
    };
    if (std::any_of(table.models().begin(), table.models().end(), reports)) names.push_back(table.metric_names()[i]);
  }
  return names;
}

// Lists of a document, in this order.
using Lists = std::initializer_list<std::pair<const char*, Json*>>;

void AddLists(Lists lists, Json* document) {
  for (const auto& [name, list] : lists) (*document)[name] = std::move(*list);
}

void AddColumns(Lists lists, Json* document) {
  for (const auto& [name, list] : lists) (*document)[name] = Column(std::move(*list));
}

}  // namespace

Json ColumnsDocument(const ExperimentTable& table) {
  Json document;
  document["id"] = table.id();
  document["number"] = table.number();
  document["status"] = table.standing().status;
  document["started"] = MillisJson(table.started());
  document["objectives"] = ObjectivesJson(table.goals());
  Json ids = Json::array(), status_of = Json::array(), start = Json::array(), end = Json::array(),
       begun = Json::array(), attempts = Json::array(), params = Json::array(), flops = Json::array(),
       steps = Json::array(), latest = Json::array(), violation = Json::array(), front = Json::array(),
       stopped = Json::array(), failures = Json::array(), failure_of = Json::array();
  Words statuses;
  std::map<std::pair<std::string, std::string>, size_t> known_failures;
  std::map<int, int> fronts;
  if (!table.is_part()) fronts = FrontsOf(table);
  const int64_t experiment_start = table.started().has_value() ? absl::ToUnixMillis(*table.started()) : 0;
  for (const TableModel& model : table.models()) {
    ids.push_back(model.model);
    status_of.push_back(
        statuses.NumberOf(ModelStatus(model.outcome, model.shown.started(), table.standing().interrupted)));
    const AttemptRecord* const shown = model.shown_attempt();
    const bool has_start = shown != nullptr && shown->started.has_value();
    const int64_t attempt_start = has_start ? absl::ToUnixMillis(*shown->started) : experiment_start;
    start.push_back(shown == nullptr ? Json() : MillisJson(shown->started, experiment_start));
    end.push_back(shown == nullptr ? Json() : MillisJson(shown->ended, attempt_start));
    begun.push_back(MillisJson(model.begun(), attempt_start));
    attempts.push_back(model.attempts.size());
    params.push_back(CountJson(model.params));
    flops.push_back(CountJson(model.flops));
    steps.push_back(model.steps.size());
    const bool has_default = HasMetrics(model) && model.outcome->metrics().values().count("default") > 0;
    latest.push_back(has_default || !model.latest.has_value() ? Json() : NumberJson(*model.latest));
    violation.push_back(HasMetrics(model) ? NumberJson(table.goals().Violation(model.outcome->metrics())) : Json());
    const auto found = fronts.find(model.model);
    front.push_back(found == fronts.end() ? Json() : Json(found->second));
    const bool was_stopped = model.outcome.has_value() && model.outcome->stopped_step() != 0;
    stopped.push_back(was_stopped ? Json(model.outcome->stopped_step()) : Json());
    if (!model.outcome.has_value() || !model.outcome->has_failure()) {
      failure_of.push_back(nullptr);
      continue;
    }
    const v1::Failure& failure = model.outcome->failure();
    const std::string reason = v1::Failure::Reason_Name(failure.reason());
    const auto [place, is_new] = known_failures.try_emplace({reason, failure.message()}, failures.size());
    if (is_new) failures.push_back({{"reason", reason}, {"message", failure.message()}});
    failure_of.push_back(place->second);
  }
  document["model"] = std::move(ids);
  document["statuses"] = statuses.words();
  AddColumns({{"status_of", &status_of},
              {"start", &start},
              {"end", &end},
              {"begun", &begun},
              {"attempts", &attempts},
              {"params", &params},
              {"flops", &flops},
              {"steps", &steps}},
             &document);
  document["choices"] = ChoicesJson(table);
  document["metrics"] = MetricsJson(table);
  document["reported"] = ReportedJson(table);
  AddColumns({{"latest", &latest}, {"violation", &violation}}, &document);
  if (!table.is_part()) AddColumns({{"front", &front}}, &document);
  AddColumns({{"stopped_step", &stopped}}, &document);
  document["failures"] = std::move(failures);
  AddColumns({{"failure_of", &failure_of}}, &document);
  return document;
}

Json AttemptsDocument(const ExperimentTable& table) {
  Json models = Json::array(), numbers = Json::array(), trials = Json::array(), device = Json::array(),
       start = Json::array(), end = Json::array(), outcome = Json::array();
  Words devices;
  for (const TableModel& model : table.models()) {
    for (const AttemptRecord& attempt : model.attempts) {
      models.push_back(attempt.model);
      numbers.push_back(attempt.attempt);
      trials.push_back(attempt.trial);
      const std::string name = absl::StrCat(attempt.device.node(), "/", DeviceName(attempt.device));
      device.push_back(attempt.started.has_value() ? Json(devices.NumberOf(name)) : Json());
      start.push_back(MillisJson(attempt.started));
      end.push_back(MillisJson(attempt.ended));
      outcome.push_back(attempt.ended.has_value() ? Json(v1::ModelEnded::Outcome_Name(attempt.end.outcome())) : Json());
    }
  }
  Json document;
  document["number"] = table.number();
  document["devices"] = devices.words();
  AddLists({{"model", &models},
            {"attempt", &numbers},
            {"trial", &trials},
            {"device", &device},
            {"start", &start},
            {"end", &end},
            {"outcome", &outcome}},
           &document);
  return document;
}

}  // namespace lanista
