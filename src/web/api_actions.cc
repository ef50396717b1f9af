// What the page does besides looking: all handlers that change something, and exports.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "src/base/utf8.h"
#include "src/storage/journal.h"
#include "src/web/api.h"
#include "src/web/api_answers.h"
#include "src/web/notes.h"
#include "src/web/packed_files.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// A header has room for three times as many.
constexpr size_t kMaxWarningBytes = 2000;

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

}  // namespace

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
