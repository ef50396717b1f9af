#include "src/views/documents.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/space/space.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kModelsNamedPerFailure = 10;

Json TimeJson(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%E3SZ", time, absl::UTCTimeZone()); }

Json TimeJson(const std::optional<absl::Time>& time) { return time.has_value() ? TimeJson(*time) : Json(); }

// Whole milliseconds, like the times themselves.
double Seconds(absl::Duration duration) {
  return static_cast<double>(absl::ToInt64Milliseconds(std::max(duration, absl::ZeroDuration()))) / 1000.0;
}

Json FailureJson(const v1::Failure& failure) {
  Json json;
  json["reason"] = v1::FailureReason_Name(failure.reason());
  json["message"] = failure.message();
  json["signal"] = failure.signal() != 0 ? Json(failure.signal()) : Json();
  json["exit_status"] = failure.reason() == v1::EXIT ? Json(failure.exit_status()) : Json();
  return json;
}

Json CountsJson(const ModelCounts& counts) {
  Json json;
  json["total"] = counts.total;
  json["succeeded"] = counts.succeeded;
  json["failed"] = counts.failed;
  json["stopped_early"] = counts.stopped_early;
  json["canceled"] = counts.canceled;
  json["unfinished"] = counts.unfinished;
  return json;
}

// The word for people: without the prefix that C++ enums need.
std::string StateName(v1::ExperimentState state) {
  return state == v1::EXPERIMENT_FAILED ? "FAILED" : v1::ExperimentState_Name(state);
}

const char* ObjectiveName(const JournalReader& reader) {
  return reader.experiment().config().objective() == v1::MINIMIZE ? "MINIMIZE" : "MAXIMIZE";
}

// Where an experiment stands.
struct Standing {
  std::string status;
  std::string reason;
  bool interrupted = false;
  std::optional<absl::Time> ended;
  double seconds = 0;
};

absl::StatusOr<Standing> StandingOf(const JournalReader& reader, const ViewOptions& options) {
  Standing standing;
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  standing.status = StateName(state.change.state());
  standing.reason = state.change.reason();
  absl::Time until = std::min(options.now, absl::Now());
  if (IsFinal(state.change.state())) {
    standing.ended = until = state.time;
  } else if (!reader.holder().has_value()) {
    standing.interrupted = true;
    standing.status = "INTERRUPTED";
    standing.reason = absl::StrCat("the process that ran it ended before the experiment did; `resume ",
                                   reader.experiment().experiment(), "` goes on with it");
    LANISTA_ASSIGN_OR_RETURN(until, reader.LastTime());
  }
  // Before a resume nothing ran.
  LANISTA_ASSIGN_OR_RETURN(const absl::Duration away,
                           reader.TimeIn({v1::DONE, v1::STOPPED, v1::EXPERIMENT_FAILED, v1::INTERRUPTED}, until));
  standing.seconds = Seconds(until - reader.created() - away);
  return standing;
}

// Number of models as decimal digits, or null.
absl::StatusOr<Json> SpaceSizeJson(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(std::optional<v1::SpaceSpec> spec, reader.Space());
  if (!spec.has_value()) return Json();
  LANISTA_ASSIGN_OR_RETURN(const Space space, Space::FromProto(*std::move(spec)));
  return space.size().has_value() ? Json(space.size()->get_str()) : Json();
}

absl::StatusOr<Json> BestJson(const JournalReader& reader, int count) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, reader.BestModels(count));
  Json best = Json::array();
  for (const ModelRecord& model : models) {
    Json entry;
    entry["model"] = model.model;
    entry["default"] = model.outcome->metrics().values().at("default");
    entry["metrics"] = MetricsJson(model.outcome->metrics());
    entry["sample"] = SampleJson(model);
    best.push_back(std::move(entry));
  }
  return best;
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
  LANISTA_RETURN_IF_ERROR(reader.VisitModels([&](const ModelRecord& model) {
    if (!model.outcome.has_value() || !model.outcome->has_failure()) return absl::OkStatus();
    const v1::Failure& failure = model.outcome->failure();
    Group& group = groups[{failure.reason(), failure.message(), failure.signal()}];
    if (group.count == 0) group.failure = failure;
    if (++group.count <= kModelsNamedPerFailure) group.models.push_back(model.model);
    return absl::OkStatus();
  }));
  std::vector<const Group*> sorted;
  for (const auto& entry : groups) sorted.push_back(&entry.second);
  std::stable_sort(sorted.begin(), sorted.end(), [](const Group* a, const Group* b) { return a->count > b->count; });
  Json failures = Json::array();
  for (const Group* group : sorted) {
    Json entry;
    entry["reason"] = v1::FailureReason_Name(group->failure.reason());
    entry["message"] = group->failure.message();
    entry["signal"] = group->failure.signal() != 0 ? Json(group->failure.signal()) : Json();
    entry["count"] = group->count;
    entry["models"] = group->models;
    failures.push_back(std::move(entry));
  }
  return failures;
}

Json SecondsJson(const AttemptRecord& attempt) {
  if (!attempt.started.has_value() || !attempt.ended.has_value()) return Json();
  return Seconds(*attempt.ended - *attempt.started);
}

Json AttemptJson(const AttemptRecord& attempt, const std::vector<int>& members) {
  Json json;
  json["attempt"] = attempt.attempt;
  json["trial"] = attempt.trial;
  json["device"] = attempt.started.has_value() ? Json(DeviceName(attempt.device)) : Json();
  json["node"] = attempt.started.has_value() ? Json(attempt.device.node()) : Json();
  json["start"] = TimeJson(attempt.started);
  json["end"] = TimeJson(attempt.ended);
  json["seconds"] = SecondsJson(attempt);
  json["merged_with"] = Json::array();
  for (const int member : members) {
    if (member != attempt.model) json["merged_with"].push_back(member);
  }
  json["alone_because"] = attempt.alone_because.empty() ? Json() : Json(attempt.alone_because);
  json["models_memory"] = attempt.end.models_memory() > 0 ? Json(attempt.end.models_memory()) : Json();
  json["outcome"] = attempt.ended.has_value() ? Json(v1::Outcome_Name(attempt.end.outcome())) : Json();
  json["failure"] = attempt.end.has_failure() ? FailureJson(attempt.end.failure()) : Json();
  const v1::LostCause cause = attempt.end.lost_cause();
  json["lost_cause"] = cause == v1::LOST_CAUSE_UNSPECIFIED ? Json() : Json(v1::LostCause_Name(cause));
  json["resumed_steps"] = attempt.resumed_steps;
  return json;
}

// The verdict that stopped a model.
Json StoppedJson(const ModelRecord& model) {
  if (!model.outcome.has_value() || model.outcome->stopped_step() == 0) return Json();
  Json json;
  json["step"] = model.outcome->stopped_step();
  json["because"] = model.outcome->stopped_because();
  return json;
}

std::string ModelStatus(const ModelRecord& model, bool started, bool interrupted) {
  if (model.outcome.has_value()) return v1::Outcome_Name(model.outcome->outcome());
  if (interrupted) return "INTERRUPTED";
  return started ? "RUNNING" : "QUEUED";
}

absl::StatusOr<Json> ListEntry(const std::string& folder, const ViewOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, options));
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  LANISTA_ASSIGN_OR_RETURN(const Json best, BestJson(reader, 1));
  Json json;
  json["id"] = reader.experiment().experiment();
  json["name"] = reader.name();
  json["status"] = standing.status;
  json["reason"] = standing.reason;
  json["created"] = TimeJson(reader.created());
  json["seconds"] = standing.seconds;
  json["models"] = CountsJson(counts);
  json["best"] = best;
  return json;
}

Json UnreadableEntry(const std::string& id, const absl::Status& status) {
  Json json;
  json["id"] = id;
  json["name"] = nullptr;
  json["status"] = "UNREADABLE";
  json["reason"] = std::string(status.message());
  json["created"] = nullptr;
  json["seconds"] = nullptr;
  json["models"] = nullptr;
  json["best"] = Json::array();
  return json;
}

}  // namespace

absl::StatusOr<Json> ShowDocument(const JournalReader& reader, const ViewOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, options));
  LANISTA_ASSIGN_OR_RETURN(const ModelCounts counts, reader.CountModels());
  const v1::ExperimentCreated& experiment = reader.experiment();
  Json json;
  json["id"] = experiment.experiment();
  json["name"] = reader.name();
  json["status"] = standing.status;
  json["reason"] = standing.reason;
  json["objective"] = ObjectiveName(reader);
  json["seed"] = experiment.seed();
  LANISTA_ASSIGN_OR_RETURN(json["space_size"], SpaceSizeJson(reader));
  json["models"] = CountsJson(counts);
  LANISTA_ASSIGN_OR_RETURN(json["best"], BestJson(reader, options.best));
  LANISTA_ASSIGN_OR_RETURN(json["failures"], FailuresJson(reader));
  json["created"] = TimeJson(reader.created());
  json["ended"] = TimeJson(standing.ended);
  json["seconds"] = standing.seconds;
  return json;
}

absl::StatusOr<Json> TrialsDocument(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(const Standing standing, StandingOf(reader, {}));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<ModelRecord> models, reader.Models());
  LANISTA_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, reader.Attempts());
  LANISTA_ASSIGN_OR_RETURN(const std::vector<IntermediateRecord> intermediates, reader.Intermediates());

  std::map<int, std::vector<int>> members;  // Of each trial.
  for (const AttemptRecord& attempt : attempts) members[attempt.trial].push_back(attempt.model);

  Json json;
  json["id"] = reader.experiment().experiment();
  json["objective"] = ObjectiveName(reader);
  json["models"] = Json::array();
  // All three lists are sorted by model.
  auto attempt = attempts.begin();
  auto intermediate = intermediates.begin();
  for (const ModelRecord& model : models) {
    Json attempts_json = Json::array();
    int shown = 0;
    // What the shown attempt went on from: earlier attempts reported these steps.
    int resumed_steps = 0;
    bool started = false;
    for (; attempt != attempts.end() && attempt->model == model.model; ++attempt) {
      attempts_json.push_back(AttemptJson(*attempt, members[attempt->trial]));
      const bool behind_outcome =
          model.outcome.has_value() && model.outcome->attempt() > 0 && attempt->attempt > model.outcome->attempt();
      if (!behind_outcome) {
        shown = attempt->attempt;
        resumed_steps = attempt->resumed_steps;
      }
      started = attempt->started.has_value() && !attempt->ended.has_value();
    }
    Json steps = Json::array();
    for (; intermediate != intermediates.end() && intermediate->model == model.model; ++intermediate) {
      const int number = intermediate->intermediate.step();
      const bool earlier = intermediate->attempt < shown && number < resumed_steps &&
                           (steps.empty() || steps.back()["step"].get<int>() < number);
      if (intermediate->attempt != shown && !earlier) continue;
      Json step;
      step["step"] = number;
      step["time"] = TimeJson(intermediate->time);
      step["metrics"] = MetricsJson(intermediate->intermediate.metrics());
      steps.push_back(std::move(step));
    }
    const bool has_metrics = model.outcome.has_value() && !model.outcome->metrics().values().empty();
    const bool failed = model.outcome.has_value() && model.outcome->has_failure();
    Json entry;
    entry["id"] = model.model;
    entry["sample"] = SampleJson(model);
    entry["status"] = ModelStatus(model, started, standing.interrupted);
    entry["metrics"]["final"] = has_metrics ? MetricsJson(model.outcome->metrics()) : Json();
    entry["metrics"]["intermediate"] = std::move(steps);
    entry["failure"] = failed ? FailureJson(model.outcome->failure()) : Json();
    entry["stopped"] = StoppedJson(model);
    entry["attempts"] = std::move(attempts_json);
    json["models"].push_back(std::move(entry));
  }
  return json;
}

absl::StatusOr<Json> ListDocument(const StateDir& state_dir, const ViewOptions& options) {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> ids, state_dir.List());
  std::vector<Json> entries;
  for (const std::string& id : ids) {
    LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir.ExperimentFolder(id));
    absl::StatusOr<Json> entry = ListEntry(folder, options);
    entries.push_back(entry.ok() ? *std::move(entry) : UnreadableEntry(id, entry.status()));
  }
  // Unreadable ones (created: null) come first.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Json& a, const Json& b) { return a["created"] < b["created"]; });
  Json json;
  json["experiments"] = std::move(entries);
  return json;
}

void SelectTrials(const std::string& sort, const std::string& status, int limit, Json* document) {
  std::vector<Json> models;
  for (Json& model : (*document)["models"]) {
    if (status.empty() || model["status"] == absl::AsciiStrToUpper(status)) models.push_back(std::move(model));
  }
  // Larger goes first; what has no value goes last.
  const double sign = (*document)["objective"] == "MINIMIZE" ? -1 : 1;
  const auto ran_to_its_end = [](const Json& model) { return model["status"] == "SUCCEEDED"; };
  const auto value = [&](const Json& model) {
    const Json& attempts = model["attempts"];
    const Json& metrics = model["metrics"]["final"];
    const Json found = sort == "duration" ? (attempts.empty() ? Json() : attempts.back()["seconds"])
                                          : (metrics.is_object() ? metrics.value("default", Json()) : Json());
    if (!found.is_number()) return -std::numeric_limits<double>::infinity();
    return found.get<double>() * (sort == "duration" ? 1 : sign);
  };
  if (sort != "model") {
    std::stable_sort(models.begin(), models.end(), [&](const Json& a, const Json& b) { return value(a) > value(b); });
    if (sort == "best") std::stable_partition(models.begin(), models.end(), ran_to_its_end);
  }
  if (limit > 0 && models.size() > static_cast<size_t>(limit)) models.resize(static_cast<size_t>(limit));
  (*document)["models"] = std::move(models);
}

Json MetricsJson(const v1::Metrics& metrics) {
  std::map<std::string, double> sorted(metrics.values().begin(), metrics.values().end());
  Json json = Json::object();
  if (const auto found = sorted.find("default"); found != sorted.end()) json["default"] = found->second;
  for (const auto& [name, value] : sorted) json[name] = value;
  return json;
}

Json SampleJson(const ModelRecord& model) {
  Json sample = Json::parse(model.sample_json, nullptr, false);
  return sample.is_discarded() ? Json() : sample;
}

std::string ToText(const Json& document) {
  return PrintableJson(document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace lanista
