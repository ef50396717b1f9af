#include "src/web/api.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "nlohmann/json.hpp"
#include "src/base/status.h"
#include "src/base/utf8.h"
#include "src/base/version.h"
#include "src/storage/journal.h"
#include "src/views/documents.h"
#include "src/views/merged_view.h"
#include "src/views/trials_document.h"
#include "src/web/columns.h"
#include "src/web/curves.h"
#include "src/web/http_stream.h"
#include "src/web/importance.h"
#include "src/web/model_files.h"
#include "src/web/notes.h"
#include "src/web/packed_files.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kExperiment[] = "api/v1/experiments/*";
constexpr int kMaxLogBytes = 1 << 20;
// A header has room for three times as many.
constexpr size_t kMaxWarningBytes = 2000;

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

// The object that a body holds; an empty body is an empty one.
absl::StatusOr<Json> ParseBody(const HttpRequest& request) {
  if (request.body.empty()) return Json::object();
  Json body = Json::parse(request.body, nullptr, /*allow_exceptions=*/false);
  if (body.is_object()) return body;
  return absl::InvalidArgumentError("the body must be a JSON object");
}

// The body of an action. FAILED_PRECONDITION: the page may not do it; `because` says why.
absl::StatusOr<Json> ActionBody(const HttpRequest& request, const std::string& because) {
  if (!because.empty()) return absl::FailedPreconditionError(because);
  return ParseBody(request);
}

// A field of a body; `otherwise` where it is not there. INVALID_ARGUMENT: it is of another type.
template <typename Value>
absl::StatusOr<Value> BodyField(const Json& body, const char* name, bool (Json::*is_type)() const noexcept,
                                Value otherwise = Value()) {
  const auto found = body.find(name);
  if (found == body.end()) return otherwise;
  if (((*found).*is_type)()) return found->get<Value>();
  return absl::InvalidArgumentError(absl::StrCat(name, ": has the wrong type"));
}

absl::StatusOr<std::string> TextField(const Json& body, const char* name, const std::string& otherwise = "") {
  return BodyField<std::string>(body, name, &Json::is_string, otherwise);
}

// For a header: what is no letter, digit or one of a few signs as %XX.
std::string PercentEncoded(const std::string& text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_') {
      encoded.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded.push_back('%');
    encoded.push_back(kDigits[byte >> 4]);
    encoded.push_back(kDigits[byte & 15]);
  }
  return encoded;
}

// A file to be saved under this name.
HttpResponse Attachment(UniqueFd file, const std::string& name) {
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return ErrorResponse(500, "the file cannot be read");
  HttpResponse response;
  response.headers = {{"Content-Type", "application/octet-stream"},
                      {"Content-Disposition", absl::StrCat("attachment; filename*=UTF-8''", PercentEncoded(name))}};
  response.file = std::move(file);
  response.file_size = static_cast<uint64_t>(status.st_size);
  return response;
}

// 0: no model's number.
int ModelNumber(const std::string& text) {
  int model = 0;
  return absl::SimpleAtoi(text, &model) && model > 0 ? model : 0;
}

HttpResponse NoModel(const ExperimentPlace& place, const std::string& model) {
  return ErrorResponse(404, absl::StrCat(place.id, " has no model '", model, "'"));
}

// What a call of Experiments returned, as an answer.
template <typename Reply, typename ToJson>
HttpResponse Answer(const absl::StatusOr<Reply>& reply, const ToJson& to_json) {
  return reply.ok() ? JsonResponse(to_json(*reply)) : ErrorResponse(reply.status());
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
  return JsonResponse(Json{{"version", kVersion},
                           {"mode", options_.mode},
                           {"nodes", options_.nodes != nullptr},
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
  return JsonResponse(Json{{"textproto", text}, {"config", Json::parse(json, nullptr, false)}});
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

HttpResponse Api::Export(const HttpRequest& request, const ExperimentPlace& place) {
  const absl::StatusOr<Json> body = ActionBody(request, options_.actions.export_models);
  if (!body.ok()) return ErrorResponse(body.status());
  const absl::StatusOr<int64_t> top = BodyField<int64_t>(*body, "top", &Json::is_number_integer, 1);
  const absl::StatusOr<std::string> format = TextField(*body, "format", "json");
  const absl::StatusOr<bool> untrained = BodyField<bool>(*body, "untrained", &Json::is_boolean);
  for (const absl::Status& status : {top.status(), format.status(), untrained.status()}) {
    if (!status.ok()) return ErrorResponse(status);
  }
  v1::DownloadRequest wanted;
  wanted.set_experiment(place.id);
  // What no field holds is out of range, too.
  wanted.set_top(
      static_cast<int>(std::clamp<int64_t>(*top, std::numeric_limits<int>::min(), std::numeric_limits<int>::max())));
  wanted.set_format(*format);
  wanted.set_untrained(*untrained);
  const absl::StatusOr<ExportedFiles> exported = experiments_.Export(wanted, request.abandoned);
  // As it was asked for, it can never be done.
  if (absl::IsUnimplemented(exported.status())) return ErrorResponse(422, exported.status().message());
  if (!exported.ok()) return ErrorResponse(exported.status());
  absl::StatusOr<PackedFiles> packed =
      PackFiles(exported->files, absl::StrCat(place.id, "-best-", *top, "-", *format), exported->folder.path());
  if (!packed.ok()) return ErrorResponse(packed.status());
  HttpResponse response = Attachment(std::move(packed->file), packed->name);
  if (!exported->warnings.empty()) {
    const std::string warnings = absl::StrJoin(exported->warnings, "\n").substr(0, kMaxWarningBytes);
    response.headers.emplace_back("X-Warnings", PercentEncoded(ToUtf8(warnings)));
  }
  return response;
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

HttpResponse Api::PutNote(const HttpRequest& request, const ExperimentPlace& place, const std::string& model) {
  const absl::StatusOr<Json> body = ActionBody(request, options_.actions.note);
  if (!body.ok()) return ErrorResponse(body.status());
  const absl::StatusOr<bool> star = BodyField<bool>(*body, "star", &Json::is_boolean);
  if (!star.ok()) return ErrorResponse(star.status());
  const absl::StatusOr<std::string> note = TextField(*body, "note");
  if (!note.ok()) return ErrorResponse(note.status());
  const int number = ModelNumber(model);
  if (number == 0) return NoModel(place, model);
  {
    const absl::StatusOr<JournalReader> reader = JournalReader::Open(place.folder);
    if (!reader.ok()) return ErrorResponse(reader.status());
    const absl::Status known = reader->FindModel(number).status();
    if (!known.ok()) return ErrorResponse(known);
  }
  const absl::Status written = WriteNote(place.folder, number, *star, *note);
  if (!written.ok()) return ErrorResponse(written);
  return JsonResponse(Json{{"star", *star}, {"note", *note}});
}

HttpResponse Api::Stop(const HttpRequest& request, const std::string& experiment) {
  const absl::StatusOr<Json> body = ActionBody(request, options_.actions.stop);
  if (!body.ok()) return ErrorResponse(body.status());
  const absl::StatusOr<std::string> reason = TextField(*body, "reason");
  if (!reason.ok()) return ErrorResponse(reason.status());
  v1::StopExperimentRequest stop;
  stop.set_experiment(experiment);
  stop.set_reason(reason->empty() ? "stopped on the web page" : *reason);
  return Answer(experiments_.Stop(stop), [](const v1::StopExperimentReply& reply) {
    return Json{{"id", reply.experiment()}};
  });
}

HttpResponse Api::Resume(const HttpRequest& request, const std::string& experiment) {
  const absl::StatusOr<Json> body = ActionBody(request, options_.actions.resume);
  if (!body.ok()) return ErrorResponse(body.status());
  v1::ResumeExperimentRequest resume;
  resume.set_experiment(experiment);
  // Not copied: that recurses, and a client may nest lists as deep as a body is long.
  if (const auto list = body->find("set"); list != body->end()) {
    if (!list->is_array()) return ErrorResponse(400, "set: must be a list of texts");
    for (const Json& set : *list) {
      if (!set.is_string()) return ErrorResponse(400, "set: must be a list of texts");
      resume.add_set(set.get<std::string>());
    }
  }
  return Answer(experiments_.Resume(resume, request.abandoned), [](const v1::ResumeExperimentReply& reply) {
    return Json{{"id", reply.experiment()}};
  });
}

HttpResponse Api::Delete(const HttpRequest& request, const std::string& experiment) {
  const absl::StatusOr<Json> body = ActionBody(request, options_.actions.remove);
  if (!body.ok()) return ErrorResponse(body.status());
  const absl::StatusOr<std::string> name = TextField(*body, "name");
  if (!name.ok()) return ErrorResponse(name.status());
  const absl::StatusOr<ExperimentPlace> place = experiments_.Locate(experiment);
  if (!place.ok()) return ErrorResponse(place.status());
  if (place->id != experiment) return ErrorResponse(400, "only the whole id of an experiment deletes it");
  {
    const absl::StatusOr<JournalReader> reader = JournalReader::Open(place->folder);
    if (!reader.ok()) return ErrorResponse(reader.status());
    if (reader->name() != *name) return ErrorResponse(400, "name: is not the experiment's");
  }
  v1::DeleteExperimentRequest remove;
  remove.set_experiment(experiment);
  const absl::StatusOr<v1::DeleteExperimentReply> reply = experiments_.Delete(remove);
  if (reply.ok()) tables_.Forget(experiment);
  return Answer(reply, [](const v1::DeleteExperimentReply& done) { return Json{{"deleted", done.experiment()}}; });
}

}  // namespace lanista
