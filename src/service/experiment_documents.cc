// Experiments: what clients read of experiments, and what changes nothing: documents, logs, graphs, exports.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/service/experiments.h"
#include "src/service/request_checks.h"
#include "src/storage/journal.h"
#include "src/storage/trial_files.h"
#include "src/views/merged_view.h"
#include "src/views/trials_csv.h"
#include "src/views/trials_document.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDefaultPage = 100;
constexpr int kMaxPage = 1000;
constexpr int kMaxExported = 1000;
constexpr int kMaxLogBytes = 1 << 20;
// There are fewer statuses.
constexpr int kMaxStatuses = 20;

// A part of a file below the experiment's folder, and its size; a file that is not there is empty.
absl::Status ReadPart(const std::string& folder, const std::string& name, int64_t offset, int limit, TrialLog* part) {
  const absl::StatusOr<UniqueFd> file = OpenTrialFile(folder, name);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  if (!file.ok()) return file.status();
  struct stat status = {};
  if (fstat(file->get(), &status) != 0) return lanista::ErrnoToStatus(errno, name);
  part->size = status.st_size;
  part->text.resize(static_cast<size_t>(std::clamp<int64_t>(status.st_size - offset, 0, limit)));
  size_t done = 0;
  while (done < part->text.size()) {
    const ssize_t got =
        pread(file->get(), &part->text[done], part->text.size() - done, offset + static_cast<int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return lanista::ErrnoToStatus(errno, name);
    if (got == 0) break;  // It became shorter.
    done += static_cast<size_t>(got);
  }
  part->text.resize(done);
  return absl::OkStatus();
}

absl::StatusOr<DocumentInParts> InOnePart(absl::StatusOr<Json> document) {
  LANISTA_RETURN_IF_ERROR(document.status());
  auto entries = std::move(std::prev(document->end())->get_ref<Json::array_t&>());
  *std::prev(document->end()) = Json::array();
  DocumentInParts parts{*std::move(document), nullptr};
  parts.next = [entries = std::move(entries)]() mutable -> absl::StatusOr<std::vector<Json>> {
    return std::exchange(entries, {});
  };
  return parts;
}

}  // namespace

absl::StatusOr<v1::GetExperimentReply> Experiments::Get(const v1::GetExperimentRequest& request) {
  LANISTA_ASSIGN_OR_RETURN(const std::string id, Find(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const Json document, Show(reader));
  v1::GetExperimentReply reply;
  reply.set_json(JsonLine(document));
  *reply.mutable_config() = reader.experiment().config();
  return reply;
}

absl::StatusOr<v1::ListExperimentsReply> Experiments::List(const v1::ListExperimentsRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckRange(request.page_size(), 0, kMaxPage, "page_size"));
  LANISTA_RETURN_IF_ERROR(CheckSize(request.status_size(), kMaxStatuses, "status", "entries"));
  for (const std::string& status : request.status()) {
    LANISTA_RETURN_IF_ERROR(
        CheckWord(status, {"CREATED", "RUNNING", "STOPPING", "DONE", "STOPPED", "FAILED", "INTERRUPTED", "UNREADABLE"},
                  "status"));
  }
  LANISTA_ASSIGN_OR_RETURN(std::vector<std::string> ids, state_dir_.List());
  ids.erase(ids.begin(), std::upper_bound(ids.begin(), ids.end(), request.page_token()));
  v1::ListExperimentsReply reply;
  const size_t page = static_cast<size_t>(request.page_size() == 0 ? kDefaultPage : request.page_size());
  if (ids.size() > page) {
    ids.resize(page);
    reply.set_next_page_token(ids.back());
  }
  Json entries = Json::array();
  for (Json& entry : ListEntries(state_dir_, ids, [this](const JournalReader& reader) { return Entry(reader); })) {
    const std::string status = entry["status"].get<std::string>();
    const bool wanted = std::find(request.status().begin(), request.status().end(), status) != request.status().end();
    if (wanted || request.status().empty()) entries.push_back(std::move(entry));
  }
  reply.set_json(JsonLine(Json{{"experiments", std::move(entries)}}));
  return reply;
}

absl::StatusOr<Json> Experiments::ListTrials(const v1::ListTrialsRequest& request) {
  LANISTA_ASSIGN_OR_RETURN(DocumentInParts parts, ListTrialsInParts(request));
  Json& entries = *std::prev(parts.beginning.end());
  while (true) {
    LANISTA_ASSIGN_OR_RETURN(std::vector<Json> part, parts.next());
    if (part.empty()) return std::move(parts.beginning);
    for (Json& entry : part) entries.push_back(std::move(entry));
  }
}

absl::StatusOr<DocumentInParts> Experiments::ListTrialsInParts(const v1::ListTrialsRequest& request) {
  if (!v1::ListTrialsRequest::View_IsValid(request.view())) {
    return absl::InvalidArgumentError(absl::StrCat("view: this head has no view ", static_cast<int>(request.view())));
  }
  LANISTA_RETURN_IF_ERROR(CheckWord(request.sort(), {"model", "best", "duration"}, "sort"));
  const std::string status = absl::AsciiStrToUpper(request.status());
  LANISTA_RETURN_IF_ERROR(CheckWord(
      status, {"QUEUED", "RUNNING", "INTERRUPTED", "SUCCEEDED", "FAILED", "STOPPED_EARLY", "CANCELED", "INFEASIBLE"},
      "status"));
  LANISTA_RETURN_IF_ERROR(CheckRange(request.limit(), 0, std::numeric_limits<int>::max(), "limit"));
  LANISTA_ASSIGN_OR_RETURN(const std::string id, Find(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(JournalReader journal, JournalReader::Open(folder));
  const auto reader = std::make_shared<const JournalReader>(std::move(journal));
  if (request.view() == v1::ListTrialsRequest::MERGED) return InOnePart(MergedTrialsDocument(*reader));
  if (request.view() == v1::ListTrialsRequest::CSV) {
    TrialsCsvOptions options;
    options.for_terminal = request.for_terminal();
    return InOnePart(TrialsCsvDocument(*reader, request.limit(), request.sort(), options));
  }
  LANISTA_ASSIGN_OR_RETURN(TrialsReader opened,
                           TrialsReader::Open(*reader, {request.status(), request.limit(), request.sort()}));
  const auto trials = std::make_shared<TrialsReader>(std::move(opened));
  // `trials` refers to `*reader`: the function keeps both.
  return DocumentInParts{trials->Beginning(), [reader, trials] { return trials->Next(); }};
}

absl::StatusOr<v1::GetTrialReply> Experiments::GetTrial(const v1::GetTrialRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckRange(request.log_offset(), 0, std::numeric_limits<int64_t>::max(), "log_offset"));
  LANISTA_RETURN_IF_ERROR(CheckRange(request.log_limit(), 0, kMaxLogBytes, "log_limit"));
  LANISTA_ASSIGN_OR_RETURN(const ExperimentPlace place, Locate(request.experiment()));
  v1::GetTrialReply reply;
  {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(place.folder));
    const absl::StatusOr<Json> model = TrialDocument(reader, request.model());
    if (!model.ok()) return Annotate(model.status(), "model");
    reply.set_json(JsonLine(*model));
  }
  LANISTA_ASSIGN_OR_RETURN(
      TrialLog log, ReadLog(place, request.model(), request.attempt(), request.log_offset(), request.log_limit()));
  reply.set_log_size(log.size);
  *reply.mutable_log() = std::move(log.text);
  return reply;
}

absl::StatusOr<TrialLog> Experiments::ReadLog(const ExperimentPlace& place, int model, int attempt, int64_t offset,
                                              int limit) {
  LANISTA_RETURN_IF_ERROR(CheckRange(offset, 0, std::numeric_limits<int64_t>::max(), "offset"));
  LANISTA_RETURN_IF_ERROR(CheckRange(limit, 0, kMaxLogBytes, "limit"));
  std::vector<AttemptRecord> attempts;
  {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(place.folder));
    LANISTA_RETURN_IF_ERROR(Annotate(reader.FindModel(model).status(), "model"));
    LANISTA_RETURN_IF_ERROR(reader.VisitAttempts(std::vector<int>{model}, [&attempts](AttemptRecord record) {
      attempts.push_back(std::move(record));
      return absl::OkStatus();
    }));
  }
  if (attempt == 0 && attempts.empty()) return TrialLog();
  const auto found = attempt == 0
                         ? std::prev(attempts.end())
                         : std::find_if(attempts.begin(), attempts.end(),
                                        [attempt](const AttemptRecord& record) { return record.attempt == attempt; });
  if (found == attempts.end()) {
    return absl::NotFoundError(absl::StrCat("attempt: model ", model, " of ", place.id, " has no attempt ", attempt));
  }
  TrialLog log;
  log.attempt = found->attempt;
  LANISTA_RETURN_IF_ERROR(ReadPart(place.folder, TrialLogFile(found->trial), offset, limit, &log));
  return log;
}

absl::StatusOr<Json> Experiments::Show(const JournalReader& reader) const {
  LANISTA_ASSIGN_OR_RETURN(const ViewOptions options, OptionsFor(reader));
  return ShowDocument(reader, options);
}

absl::StatusOr<Json> Experiments::Entry(const JournalReader& reader) const {
  LANISTA_ASSIGN_OR_RETURN(const ViewOptions options, OptionsFor(reader));
  return ListEntry(reader, options);
}

absl::StatusOr<ViewOptions> Experiments::OptionsFor(const JournalReader& reader) const {
  ViewOptions options;
  options.now = absl::Now();
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  const bool runs_here = runner_ != nullptr && reader.holder() == getpid() && !IsFinal(state.change.state());
  if (runs_here) options.waiting_for = runner_->WaitingFor(reader.experiment().experiment());
  return options;
}

absl::StatusOr<std::shared_ptr<const std::string>> Experiments::Graph(const ExperimentPlace& place, int model,
                                                                      const ModelMaker::Abandoned& abandoned) {
  LANISTA_RETURN_IF_ERROR(CheckModelMaker());
  return options_.model_maker->Graph(place.folder, model, abandoned);
}

absl::StatusOr<ExportedFiles> Experiments::Export(const v1::DownloadRequest& request,
                                                  const ModelMaker::Abandoned& abandoned) {
  LANISTA_RETURN_IF_ERROR(CheckModelMaker());
  ModelMaker::ExportRequest wanted;
  if (request.has_top()) {
    LANISTA_RETURN_IF_ERROR(CheckRange(request.top(), 1, kMaxExported, "top"));
    wanted.top = request.top();
  }
  if (!request.format().empty()) wanted.format = request.format();
  wanted.untrained = request.untrained();
  LANISTA_ASSIGN_OR_RETURN(const ExperimentPlace place, Locate(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(TemporaryFolder folder, TemporaryFolder::Make());
  LANISTA_ASSIGN_OR_RETURN(ModelMaker::Exported exported,
                           options_.model_maker->Export(place.folder, wanted, folder.path(), abandoned));
  return ExportedFiles{std::move(folder), std::move(exported.files), std::move(exported.warnings)};
}

absl::Status Experiments::CheckModelMaker() const {
  if (options_.model_maker != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("this server has no trial program: it makes no graphs and exports nothing");
}

}  // namespace lanista
