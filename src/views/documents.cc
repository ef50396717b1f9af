#include "src/views/documents.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "nlohmann/json.hpp"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/goals/goals.h"
#include "src/space/space.h"
#include "src/views/document_parts.h"
#include "src/views/standing.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kModelsNamedPerFailure = 10;

Json CountsJson(const ModelCounts& counts) {
  Json json;
  json["total"] = counts.total;
  json["succeeded"] = counts.succeeded;
  json["failed"] = counts.failed;
  json["stopped_early"] = counts.stopped_early;
  json["infeasible"] = counts.infeasible;
  json["canceled"] = counts.canceled;
  json["unfinished"] = counts.unfinished;
  return json;
}

// Number of models as decimal digits, or null.
absl::StatusOr<Json> SpaceSizeJson(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(std::optional<v1::SpaceSpec> spec, reader.Space());
  if (!spec.has_value()) return Json();
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(*std::move(spec)));
  return space.size().has_value() ? Json(space.size()->get_str()) : Json();
}

Json BestJson(const std::vector<ModelRecord>& models) {
  Json best = Json::array();
  for (const ModelRecord& model : models) {
    Json entry;
    entry["model"] = model.model;
    const Json metrics = MetricsJson(model.outcome->metrics());
    entry["default"] = metrics.value(kDefaultMetric, Json());
    entry["metrics"] = metrics;
    entry["sample"] = SampleJson(model);
    best.push_back(std::move(entry));
  }
  return best;
}

// Of the models that succeeded or were not trained because of a limit, the one that breaks the limits least; the
// earliest of several.
absl::StatusOr<Json> NearestJson(const JournalReader& reader, const Goals& goals) {
  Json nearest;
  LANISTA_RETURN_IF_ERROR(reader.VisitModels([&](const ModelRecord& model) {
    if (!model.outcome.has_value()) return absl::OkStatus();
    const v1::ModelEnded::Outcome outcome = model.outcome->outcome();
    if (outcome != v1::ModelEnded::SUCCEEDED && outcome != v1::ModelEnded::INFEASIBLE) return absl::OkStatus();
    const double violation = goals.Violation(model.outcome->metrics());
    if (violation == 0 || (!nearest.is_null() && nearest["violation"].get<double>() <= violation)) {
      return absl::OkStatus();
    }
    nearest["model"] = model.model;
    nearest["violation"] = violation;
    nearest["breaks"] = goals.DescribeViolation(model.outcome->metrics());
    return absl::OkStatus();
  }));
  return nearest;
}

// Equal failures together: ten thousand models that fail alike are one line. It reads model by model: the head that
// prints this at its end may have run more models than its memory should hold.
absl::StatusOr<Json> FailuresJson(const JournalReader& reader) {
  struct Group {
    v1::Failure failure;
    int count = 0;
    Json models = Json::array();
  };
  std::map<std::tuple<int, std::string, int>, Group> groups;
  LANISTA_RETURN_IF_ERROR(reader.VisitFailures([&groups](int model, const v1::Failure& failure) {
    Group& group = groups[{failure.reason(), failure.message(), failure.signal()}];
    if (group.count == 0) group.failure = failure;
    if (++group.count <= kModelsNamedPerFailure) group.models.push_back(model);
  }));
  std::vector<const Group*> sorted;
  for (const auto& entry : groups) sorted.push_back(&entry.second);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group* a, const Group* b) { return a->count > b->count; });
  Json failures = Json::array();
  for (const Group* group : sorted) {
    Json entry;
    entry["reason"] = v1::Failure::Reason_Name(group->failure.reason());
    entry["message"] = group->failure.message();
    entry["signal"] = group->failure.signal() != 0 ? Json(group->failure.signal()) : Json();
    entry["count"] = group->count;
    entry["models"] = group->models;
    failures.push_back(std::move(entry));
  }
  return failures;
}

Json ChoiceJson(const v1::Choice& choice) {
  Json candidates = Json::array();
  for (const v1::Value& candidate : choice.candidates()) candidates.push_back(Json::parse(ValueToText(candidate)));
  // The choice is active if any condition holds; a condition holds if all of its terms do.
  Json conditions = Json::array();
  for (const v1::Condition& condition : choice.active_if()) {
    Json terms = Json::array();
    for (const v1::Term& term : condition.all_of())
      terms.push_back({{"label", term.label()}, {"chosen", term.chosen()}});
    conditions.push_back(terms);
  }
  return {{"label", choice.label()},
          {"kind", absl::AsciiStrToLower(v1::Choice::Kind_Name(choice.kind()))},
          {"candidates", candidates},
          {"n_chosen", choice.n_chosen()},
          {"active_if", conditions}};
}

Json WaitingJson(const ViewOptions& options) {
  return options.waiting_for.empty() ? Json() : Json(options.waiting_for);
}

}  // namespace

absl::StatusOr<Json> ListEntry(const JournalReader& reader, const ViewOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, options.now));
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> best, reader.BestModels(1));
  Json json;
  json["id"] = reader.experiment().experiment();
  json["name"] = reader.name();
  json["status"] = standing.status;
  json["reason"] = standing.reason;
  json["waiting_for"] = WaitingJson(options);
  json["created"] = TimeJson(reader.created());
  json["seconds"] = standing.seconds;
  json["objectives"] = ObjectivesJson(Goals(reader.experiment().config()));
  json["models"] = CountsJson(counts);
  const v1::ExperimentConfig& config = reader.experiment().config();
  json["max_trial_number"] = config.has_max_trial_number() ? Json(config.max_trial_number()) : Json();
  json["best"] = BestJson(best);
  return json;
}

Json UnreadableEntry(const std::string& id, const absl::Status& status) {
  Json json;
  json["id"] = id;
  json["name"] = nullptr;
  json["status"] = "UNREADABLE";
  json["reason"] = std::string(status.message());
  json["waiting_for"] = nullptr;
  json["created"] = nullptr;
  json["seconds"] = nullptr;
  json["objectives"] = Json::array();
  json["models"] = nullptr;
  json["max_trial_number"] = nullptr;
  json["best"] = Json::array();
  return json;
}

absl::StatusOr<Json> ShowDocument(const JournalReader& reader, const ViewOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, options.now));
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  const v1::ExperimentCreated& experiment = reader.experiment();
  Json json;
  json["id"] = experiment.experiment();
  json["name"] = reader.name();
  json["status"] = standing.status;
  json["reason"] = standing.reason;
  json["waiting_for"] = WaitingJson(options);
  AddGoals(experiment.config(), &json);
  json["seed"] = experiment.seed();
  LANISTA_ASSIGN_OR_RETURN(json["space_size"], SpaceSizeJson(reader));
  json["models"] = CountsJson(counts);
  const Goals goals(experiment.config());
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> best,
                           goals.has_several_objectives() ? reader.ParetoFront() : reader.BestModels(options.best));
  json["best"] = BestJson(best);
  json["nearest"] = nullptr;
  if (goals.has_limits() && best.empty()) {
    LANISTA_ASSIGN_OR_RETURN(json["nearest"], NearestJson(reader, goals));
  }
  LANISTA_ASSIGN_OR_RETURN(json["failures"], FailuresJson(reader));
  json["created"] = TimeJson(reader.created());
  json["ended"] = TimeJson(standing.ended);
  json["seconds"] = standing.seconds;
  return json;
}

absl::StatusOr<Json> ListDocument(const StateDir& state_dir, const ViewOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> ids, state_dir.List());
  std::vector<Json> entries =
      ListEntries(state_dir, ids, [&options](const JournalReader& reader) { return ListEntry(reader, options); });
  SortOldestFirst(&entries);
  Json json;
  json["experiments"] = std::move(entries);
  return json;
}

std::vector<Json> ListEntries(const StateDir& state_dir, const std::vector<std::string>& ids,
                              const std::function<absl::StatusOr<Json>(const JournalReader&)>& make) {
  const auto read = [&](const std::string& id) -> absl::StatusOr<Json> {
    LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
    return make(reader);
  };
  std::vector<Json> entries;
  for (const std::string& id : ids) {
    absl::StatusOr<Json> entry = read(id);
    entries.push_back(entry.ok() ? *std::move(entry) : UnreadableEntry(id, entry.status()));
  }
  return entries;
}

void SortOldestFirst(std::vector<Json>* entries) {
  // Unreadable ones (created: null) come first.
  std::stable_sort(entries->begin(), entries->end(),
                   [](const Json& a, const Json& b) { return a["created"] < b["created"]; });
}

absl::StatusOr<Json> SpaceDocument(const std::string& name, v1::SpaceSpec spec) {
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(std::move(spec)));
  Json choices = Json::array();
  for (const v1::Choice& choice : space.spec().choices()) choices.push_back(ChoiceJson(choice));
  return Json{{"name", name},
              {"choices", choices},
              {"space_size", space.size() ? Json(space.size()->get_str()) : Json(nullptr)}};
}

}  // namespace lanista
