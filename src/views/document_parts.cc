#include "src/views/document_parts.h"

#include <map>
#include <utility>

#include "nlohmann/json.hpp"
#include "src/base/display_text.h"
#include "src/base/metric_names.h"

namespace lanista {

using Json = nlohmann::ordered_json;

Json MetricsJson(const v1::Metrics& metrics) {
  std::map<std::string, double> sorted(metrics.values().begin(), metrics.values().end());
  Json json = Json::object();
  if (const auto found = sorted.find(kDefaultMetric); found != sorted.end()) json["default"] = found->second;
  for (const auto& [name, value] : sorted) json[name] = value;
  return json;
}

Json SampleJson(const ModelRecord& model) {
  Json sample = Json::parse(model.sample_json, nullptr, false);
  return sample.is_discarded() ? Json() : sample;
}

Json CountJson(const std::optional<int64_t>& count) { return count.has_value() ? Json(*count) : Json(); }

Json TimeJson(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()); }

Json TimeJson(const std::optional<absl::Time>& time) { return time.has_value() ? TimeJson(*time) : Json(); }

Json ObjectivesJson(const Goals& goals) {
  Json objectives = Json::array();
  for (const Goal& goal : goals.objectives()) {
    Json objective;
    objective["metric"] = goal.metric;
    objective["goal"] = v1::ObjectiveConfig::Goal_Name(goal.objective);
    objectives.push_back(std::move(objective));
  }
  return objectives;
}

void AddGoals(const v1::ExperimentConfig& config, Json* json) {
  Json objectives = ObjectivesJson(Goals(config));
  (*json)["objective"] = objectives[0]["goal"];
  (*json)["objectives"] = std::move(objectives);
  (*json)["constraints"] = Json::array();
  for (const v1::ConstraintConfig& limit : config.constraint()) {
    Json constraint;
    constraint["metric"] = limit.metric();
    constraint["max"] = limit.has_max() ? Json(limit.max()) : Json();
    constraint["min"] = limit.has_min() ? Json(limit.min()) : Json();
    (*json)["constraints"].push_back(std::move(constraint));
  }
}

std::string ToText(const Json& document) {
  return PrintableJson(document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace lanista
