#include "src/web/api.h"

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "src/base/component.h"
#include "src/base/status.h"
#include "src/base/version.h"
#include "src/storage/journal.h"
#include "src/views/documents.h"
#include "src/views/merged_view.h"
#include "src/views/trials_document.h"
#include "src/web/api_answers.h"
#include "src/web/columns.h"
#include "src/web/curves.h"
#include "src/web/http_stream.h"
#include "src/web/importance.h"
#include "src/web/model_files.h"
#include "src/web/notes.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kExperiment[] = "api/v1/experiments/*";
constexpr int kMaxLogBytes = 1 << 20;

Json ActionJson(const std::string& because) { return {{"enabled", because.empty()}, {"because", because}}; }

// A whole number of the query; `otherwise` where it is not there. INVALID_ARGUMENT: it is none.
template <typename Number>
absl::StatusOr<Number> QueryNumber(const HttpRequest& request, const std::string& name, Number otherwise) {
  const auto found = request.query.find(name);
  Number number = otherwise;
  if (found == request.query.end() || absl::SimpleAtoi(found->second, &number)) return number;
  return absl::InvalidArgumentError(absl::StrCat(name, ": '", found->second, "' is no whole number"));
}

std::string QueryText(const HttpRequest& request, const std::string& name, const std::string& otherwise) {
  const auto found = request.query.find(name);
  return found == request.query.end() ? otherwise : found->second;
}

HttpResponse Answer(const absl::StatusOr<TableCache::Text>& text) {
  return text.ok() ? JsonResponse(*text) : ErrorResponse(text.status());
}

}  // namespace

void Api::AddRoutes(Router* router) {
  using Parameters = Router::Parameters;
  using AboutExperiment = std::function<HttpResponse(const HttpRequest&, const ExperimentPlace&, const Parameters&)>;
  // A route below kExperiment, whose first parameter it has looked up.
  const auto add = [this, router](const std::string& method, const std::string& rest, AboutExperiment handler,
                                  Router::Pace pace = Router::Pace::kQuick) {
    router->Add(
        method, kExperiment + rest,
        [this, handler = std::move(handler)](const HttpRequest& request, const Parameters& parameters) {
          const absl::StatusOr<ExperimentPlace> place = experiments_.Locate(parameters[0]);
          return place.ok() ? handler(request, *place, parameters) : ErrorResponse(place.status());
        },
        pace);
  };
  using AboutModel = std::function<HttpResponse(const HttpRequest&, const ExperimentPlace&, int, const Parameters&)>;
  const auto add_model = [&add](const std::string& rest, AboutModel handler, Router::Pace pace = Router::Pace::kQuick) {
    add(
        "GET", "/models/*" + rest,
        [handler = std::move(handler)](const HttpRequest& request, const ExperimentPlace& place,
                                       const Parameters& parameters) {
          const int model = ModelNumber(parameters[1]);
          if (model == 0) return NoModel(place, parameters[1]);
          return handler(request, place, model, parameters);
        },
        pace);
  };

  router->Add("GET", "api/v1/info", [this](const HttpRequest&, const Parameters&) { return Info(); });
  router->Add("GET", "api/v1/nodes", [this](const HttpRequest&, const Parameters&) { return Nodes(); });
  router->Add("GET", "api/v1/experiments",
              [this](const HttpRequest&, const Parameters&) { return Answer(tables_.List(experiments_.state_dir())); });
  add("GET", "", [this](const HttpRequest&, const ExperimentPlace& place, const Parameters&) {
    return Answer(tables_.Show(place));
  });
  add("GET", "/space",
      [this](const HttpRequest&, const ExperimentPlace& place, const Parameters&) { return Space(place); });
  add("GET", "/config",
      [this](const HttpRequest&, const ExperimentPlace& place, const Parameters&) { return Config(place); });
  add("GET", "/columns", [this](const HttpRequest&, const ExperimentPlace& place, const Parameters&) {
    return Answer(tables_.Columns(place));
  });
  add("GET", "/curves", [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters&) {
    return Curves(request, place);
  });
  add("GET", "/attempts", [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters&) {
    return Attempts(request, place);
  });
  add("GET", "/merged",
      [this](const HttpRequest&, const ExperimentPlace& place, const Parameters&) { return Merged(place); });
  // With all that models have reported it may have 100 MB: it holds up nobody else.
  add(
      "GET", "/trials",
      [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters&) {
        return Trials(request, place);
      },
      Router::Pace::kSlow);
  add("GET", "/importance", [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters&) {
    return Importance(request, place);
  });
  add("GET", "/events", [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters&) {
    return Events(request, place);
  });
  add("GET", "/notes", [](const HttpRequest&, const ExperimentPlace& place, const Parameters&) {
    return Answer(ReadNotes(place.folder), [](const Json& notes) { return notes; });
  });
  add("PUT", "/notes/*",
      [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters& parameters) {
        return PutNote(request, place, parameters[1]);
      });
  add_model("", [this](const HttpRequest&, const ExperimentPlace& place, int model, const Parameters&) {
    return Model(place, model);
  });
  add_model("/log", [this](const HttpRequest& request, const ExperimentPlace& place, int model, const Parameters&) {
    return Log(request, place, model);
  });
  add_model("/files", [this](const HttpRequest&, const ExperimentPlace& place, int model, const Parameters&) {
    return Files(place, model);
  });
  add_model("/files/*", [this](const HttpRequest&, const ExperimentPlace& place, int model,
                               const Parameters& parameters) { return File(place, model, parameters[2]); });
  add_model(
      "/graph",
      [this](const HttpRequest& request, const ExperimentPlace& place, int model, const Parameters&) {
        return Graph(request, place, model);
      },
      Router::Pace::kSlow);
  router->Add(
      "POST", std::string(kExperiment) + "/stop",
      [this](const HttpRequest& request, const Parameters& parameters) { return Stop(request, parameters[0]); });
  router->Add(
      "POST", std::string(kExperiment) + "/resume",
      [this](const HttpRequest& request, const Parameters& parameters) { return Resume(request, parameters[0]); });
  router->Add("DELETE", kExperiment, [this](const HttpRequest& request, const Parameters& parameters) {
    return Delete(request, parameters[0]);
  });
  add(
      "POST", "/export",
      [this](const HttpRequest& request, const ExperimentPlace& place, const Parameters&) {
        return Export(request, place);
      },
      Router::Pace::kSlow);
}

HttpResponse Api::Info() const {
  const WebActions& actions = options_.actions;
  Json formats = Json::array();
  for (const ExportFormat& format : options_.formats) {
    formats.push_back({{"name", format.name}, {"needs", format.needs}});
  }
  return JsonResponse(Json{{"version", kVersion},
                           {"mode", options_.mode},
                           {"nodes", options_.nodes != nullptr},
                           {"formats", std::move(formats)},
                           {"actions",
                            {{"stop", ActionJson(actions.stop)},
                             {"resume", ActionJson(actions.resume)},
                             {"delete", ActionJson(actions.remove)},
                             {"export", ActionJson(actions.export_models)},
                             {"note", ActionJson(actions.note)}}}});
}

HttpResponse Api::Nodes() const {
  if (options_.nodes == nullptr) {
    return ErrorResponse(absl::FailedPreconditionError(
        "no node can join here: nodes join `lanista serve`, and searches whose training_service asks for some"));
  }
  return Answer(options_.nodes(), [](const Json& document) { return document; });
}

HttpResponse Api::Space(const ExperimentPlace& place) const {
  const absl::StatusOr<JournalReader> reader = JournalReader::Open(place.folder);
  if (!reader.ok()) return ErrorResponse(reader.status());
  absl::StatusOr<std::optional<v1::SpaceSpec>> space = reader->Space();
  if (!space.ok()) return ErrorResponse(space.status());
  if (!space->has_value()) return ErrorResponse(404, absl::StrCat("the space of ", place.id, " is not known yet"));
  return Answer(SpaceDocument(reader->name(), *std::move(*space)), [](const Json& document) { return document; });
}

HttpResponse Api::Config(const ExperimentPlace& place) const {
  const absl::StatusOr<JournalReader> reader = JournalReader::Open(place.folder);
  if (!reader.ok()) return ErrorResponse(reader.status());
  const v1::ExperimentConfig& config = reader->experiment().config();
  std::string text, json;
  google::protobuf::TextFormat::PrintToString(config, &text);
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(config, &json, options).ok()) json = "null";
  const v1::MessageRules& engine = RulesOfComponent(config.engine());
  Json models_have = {"sample"};
  if (!config.space().has_choices()) {
    models_have.push_back("trained_weights");
    if (engine.knows_graphs()) models_have.push_back("graph");
  }
  return JsonResponse(Json{{"textproto", text},
                           {"config", Json::parse(json, nullptr, false)},
                           {"models_have", std::move(models_have)},
                           {"merges_models", engine.merges_models()}});
}

HttpResponse Api::Curves(const HttpRequest& request, const ExperimentPlace& place) {
  const std::string metric = QueryText(request, "metric", "default");
  const bool times = QueryText(request, "times", "0") == "1";
  const absl::StatusOr<int64_t> number = QueryNumber<int64_t>(request, "number", 0);
  if (!number.ok()) return ErrorResponse(number.status());
  HttpResponse response;
  response.headers.emplace_back("Content-Type", "application/octet-stream");
  const absl::Status status = tables_.WithTable(place, *number, [&](const ExperimentTable& table) {
    response.body = std::make_shared<const std::string>(EncodeCurves(table, metric, times));
  });
  return status.ok() ? std::move(response) : ErrorResponse(status);
}

HttpResponse Api::Importance(const HttpRequest& request, const ExperimentPlace& place) {
  const std::string top_text = QueryText(request, "top", "0.1");
  double top = 0;
  if (!absl::SimpleAtod(top_text, &top) || !(top > 0 && top <= 1)) {
    return ErrorResponse(400, absl::StrCat("top: '", top_text, "' is no number above 0 and up to 1"));
  }
  const std::string goal_text = QueryText(request, "goal", "");
  std::optional<v1::ObjectiveConfig::Goal> goal;
  v1::ObjectiveConfig::Goal parsed;
  if (v1::ObjectiveConfig::Goal_Parse(goal_text, &parsed) && parsed != v1::ObjectiveConfig::GOAL_UNSPECIFIED) {
    goal = parsed;
  } else if (!goal_text.empty()) {
    return ErrorResponse(400, absl::StrCat("goal: '", goal_text, "' is neither MAXIMIZE nor MINIMIZE"));
  }
  Json document;
  const absl::Status status = tables_.WithTable(place, /*number=*/0, [&](const ExperimentTable& table) {
    document = ImportanceDocument(table, QueryText(request, "metric", "default"), top, goal);
  });
  return status.ok() ? JsonResponse(document) : ErrorResponse(status);
}

HttpResponse Api::Attempts(const HttpRequest& request, const ExperimentPlace& place) {
  const absl::StatusOr<int64_t> number = QueryNumber<int64_t>(request, "number", 0);
  if (!number.ok()) return ErrorResponse(number.status());
  Json document;
  const absl::Status status =
      tables_.WithTable(place, *number, [&](const ExperimentTable& table) { document = AttemptsDocument(table); });
  return status.ok() ? JsonResponse(document) : ErrorResponse(status);
}

HttpResponse Api::Merged(const ExperimentPlace& place) const {
  const absl::StatusOr<JournalReader> reader = JournalReader::Open(place.folder);
  if (!reader.ok()) return ErrorResponse(reader.status());
  return Answer(MergedTrialsDocument(*reader), [](const Json& document) { return document; });
}

HttpResponse Api::Trials(const HttpRequest& request, const ExperimentPlace& place) {
  const absl::StatusOr<int> limit = QueryNumber(request, "limit", 0);
  if (!limit.ok()) return ErrorResponse(limit.status());
  v1::ListTrialsRequest wanted;
  wanted.set_experiment(place.id);
  wanted.set_sort(QueryText(request, "sort", ""));
  wanted.set_status(QueryText(request, "status", ""));
  wanted.set_limit(*limit);
  return Answer(experiments_.ListTrials(wanted), [](const Json& document) { return document; });
}

HttpResponse Api::Model(const ExperimentPlace& place, int model) const {
  const absl::StatusOr<JournalReader> reader = JournalReader::Open(place.folder);
  if (!reader.ok()) return ErrorResponse(reader.status());
  return Answer(TrialDocument(*reader, model), [](const Json& document) { return document; });
}

HttpResponse Api::Log(const HttpRequest& request, const ExperimentPlace& place, int model) {
  const absl::StatusOr<int> attempt = QueryNumber(request, "attempt", 0);
  const absl::StatusOr<int64_t> offset = QueryNumber<int64_t>(request, "offset", 0);
  const absl::StatusOr<int> limit = QueryNumber(request, "limit", kMaxLogBytes);
  for (const absl::Status& status : {attempt.status(), offset.status(), limit.status()}) {
    if (!status.ok()) return ErrorResponse(status);
  }
  absl::StatusOr<TrialLog> log = experiments_.ReadLog(place, model, *attempt, *offset, *limit);
  if (!log.ok()) return ErrorResponse(log.status());
  HttpResponse response;
  response.headers = {{"Content-Type", "text/plain; charset=utf-8"},
                      {"X-Log-Size", absl::StrCat(log->size)},
                      {"X-Log-Attempt", absl::StrCat(log->attempt)}};
  response.body = std::make_shared<const std::string>(std::move(log->text));
  return response;
}

HttpResponse Api::Files(const ExperimentPlace& place, int model) const {
  return Answer(ListModelFiles(place, model), [](const std::vector<ModelFile>& files) {
    Json list = Json::array();
    for (const ModelFile& file : files) list.push_back({{"name", file.name}, {"bytes", file.bytes}});
    return Json{{"files", std::move(list)}};
  });
}

HttpResponse Api::File(const ExperimentPlace& place, int model, const std::string& name) const {
  absl::StatusOr<UniqueFd> file = OpenModelFile(place, model, name);
  return file.ok() ? Attachment(*std::move(file), name) : ErrorResponse(file.status());
}

HttpResponse Api::Graph(const HttpRequest& request, const ExperimentPlace& place, int model) {
  const auto graph = experiments_.Graph(place, model, request.abandoned);
  return graph.ok() ? JsonResponse(*graph) : ErrorResponse(graph.status());
}

HttpResponse Api::Events(const HttpRequest& request, const ExperimentPlace& place) {
  absl::StatusOr<int64_t> after = QueryNumber<int64_t>(request, "after", 0);
  int64_t last = 0;
  if (absl::SimpleAtoi(request.Header("last-event-id"), &last)) after = last;
  if (!after.ok()) return ErrorResponse(after.status());
  const bool as_models = QueryText(request, "models", "0") == "1";
  HttpResponse response;
  // Proxies are to hand on each message as it comes.
  response.headers = {{"Content-Type", "text/event-stream"}, {"X-Accel-Buffering", "no"}};
  if (request.method == "HEAD") return response;
  absl::StatusOr<std::shared_ptr<HttpStream>> stream = streams_.Open(
      place.id, *after, as_models ? ExperimentWatch::Form::kManyAsModels : ExperimentWatch::Form::kEvents);
  if (!stream.ok()) return ErrorResponse(stream.status());
  response.stream = *std::move(stream);
  return response;
}

}  // namespace lanista
