#include "src/views/merged_view.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/component.h"
#include "src/base/device_name.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/views/document_parts.h"
#include "src/views/plan_view.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

Json OptionalTime(const std::optional<absl::Time>& time) { return time.has_value() ? TimeJson(*time) : Json(); }
Json Known(int64_t bytes) { return bytes > 0 ? Json(bytes) : Json(); }

// Why the model of an attempt ran again.
std::string WhyAgain(const AttemptRecord& attempt) {
  if (attempt.end.has_failure()) return attempt.end.failure().message();
  if (attempt.end.outcome() == v1::ModelEnded::LOST)
    return absl::StrCat("lost: ", v1::ModelEnded::LostCause_Name(attempt.end.lost_cause()));
  return v1::ModelEnded::Outcome_Name(attempt.end.outcome());
}

Json MemberJson(const AttemptRecord& attempt, const AttemptRecord* next) {
  Json json;
  json["model"] = attempt.model;
  json["attempt"] = attempt.attempt;
  json["outcome"] = attempt.ended.has_value() ? Json(v1::ModelEnded::Outcome_Name(attempt.end.outcome())) : Json();
  json["again"] = Json();
  if (next != nullptr) {
    json["again"] = {{"attempt", next->attempt}, {"trial", next->trial}, {"because", WhyAgain(attempt)}};
  }
  return json;
}

// The trial as a whole, from its attempts.
void AddRun(const std::vector<const AttemptRecord*>& members, Json* json) {
  std::optional<absl::Time> start, end;
  int64_t memory = 0;
  bool over = !members.empty();
  const AttemptRecord* started = nullptr;
  for (const AttemptRecord* const member : members) {
    memory = std::max(memory, member->end.models_memory());
    if (member->started.has_value()) {
      started = member;
      start = std::min(start.value_or(*member->started), *member->started);
    }
    over = over && member->ended.has_value();
    if (member->ended.has_value()) end = std::max(end.value_or(*member->ended), *member->ended);
  }
  if (!over) end.reset();
  (*json)["measured_memory"] = Known(memory);
  (*json)["device"] = started == nullptr ? Json() : Json(DeviceName(started->device));
  (*json)["node"] = started == nullptr ? Json() : Json(started->device.node());
  (*json)["start"] = OptionalTime(start);
  (*json)["end"] = OptionalTime(end);
  (*json)["seconds"] = start.has_value() && end.has_value() ? Json(absl::ToDoubleSeconds(*end - *start)) : Json();
}

std::string MemoryText(const Json& bytes) {
  return bytes.is_null() ? "-" : absl::StrFormat("%.1f MiB", bytes.get<double>() / (1 << 20));
}

std::string StepsText(const Json& trial) {
  return trial["steps"].is_null() ? "-" : absl::StrCat(trial["steps"].dump(), " of ", trial["steps_alone"].dump());
}

}  // namespace

absl::StatusOr<Json> MergedTrialsDocument(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<TrialRecord> trials, reader.PlannedTrials());
  LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, reader.Attempts());
  // Attempts are in the order of model and attempt: the next one of the same model follows.
  std::map<int, std::vector<const AttemptRecord*>> members;
  for (const AttemptRecord& attempt : attempts) members[attempt.trial].push_back(&attempt);
  const auto next_of = [&attempts](const AttemptRecord* attempt) {
    const AttemptRecord* const next = attempt + 1;
    return next < attempts.data() + attempts.size() && next->model == attempt->model ? next : nullptr;
  };
  Json document = {{"id", reader.experiment().experiment()},
                   {"merges", RulesOfComponent(reader.experiment().config().engine()).merges_models()},
                   {"trials", Json::array()}};
  for (const TrialRecord& trial : trials) {
    Json json;
    json["trial"] = trial.trial;
    json["queued"] = TimeJson(trial.queued);
    json["alone_because"] = trial.alone_because.empty() ? Json() : Json(trial.alone_because);
    json["estimated_memory"] = Known(trial.plan.memory());
    AddRun(members[trial.trial], &json);
    json["models"] = Json::array();
    for (const AttemptRecord* const member : members[trial.trial]) {
      json["models"].push_back(MemberJson(*member, next_of(member)));
    }
    int64_t steps = 0, steps_alone = 0;
    bool known = trial.plan.work_size() > 0;
    for (const v1::ExplainedWork& work : trial.plan.work()) {
      steps += work.steps();
      steps_alone += int64_t{work.steps()} * work.models_size();
      // The whole of a model of which no more is known.
      known = known && (work.steps() == 0 || !work.first().empty());
    }
    json["steps"] = known ? Json(steps) : Json();
    json["steps_alone"] = known ? Json(steps_alone) : Json();
    json["work"] = WorkJson(trial.plan.work());
    document["trials"].push_back(std::move(json));
  }
  return document;
}

std::string MergedTrialsText(const Json& document, int width) {
  if (document["trials"].empty()) {
    return document["merges"].get<bool>() ? "no trials yet\n" : "the engine of this experiment merges no models\n";
  }
  TextTable table({{"trial", TextTable::Align::kRight},
                   {"models", TextTable::Align::kLeft},
                   {"steps", TextTable::Align::kLeft},
                   {"estimated", TextTable::Align::kRight},
                   {"measured", TextTable::Align::kRight},
                   {"seconds", TextTable::Align::kRight},
                   {"alone, or again, because", TextTable::Align::kLeft}});
  for (const Json& trial : document["trials"]) {
    std::vector<std::string> models, reasons;
    if (!trial["alone_because"].is_null()) reasons.push_back(trial["alone_because"].get<std::string>());
    for (const Json& model : trial["models"]) {
      models.push_back(model["model"].dump());
      if (model["again"].is_null()) continue;
      reasons.push_back(absl::StrCat(models.back(), ": ", ReasonLine(model["again"]["because"].get<std::string>())));
    }
    table.AddRow({trial["trial"].dump(), absl::StrJoin(models, " "), StepsText(trial),
                  MemoryText(trial["estimated_memory"]), MemoryText(trial["measured_memory"]),
                  trial["seconds"].is_null() ? "-" : absl::StrFormat("%.1f", trial["seconds"].get<double>()),
                  absl::StrJoin(reasons, "; ")});
  }
  table.Fit(width);
  return table.ToText();
}

}  // namespace lanista
