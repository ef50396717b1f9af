#include "src/service/experiments.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "src/base/clock.h"
#include "src/base/display_text.h"
#include "src/base/json_line.h"
#include "src/base/open_beneath.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/config/config.h"
#include "src/config/data_paths.h"
#include "src/config/paths.h"
#include "src/service/path_stamp.h"
#include "src/service/submitted_devices.h"
#include "src/storage/find_experiment.h"
#include "src/storage/journal.h"
#include "src/views/merged_view.h"
#include "src/views/trials_csv.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxEvents = 500;
constexpr size_t kMaxEventBytes = 1 << 20;
constexpr int kDefaultPage = 100;
constexpr int kMaxPage = 1000;
constexpr int kMaxPlanModels = 1000;
constexpr int kMaxExported = 1000;
constexpr int64_t kMaxRequestId = 100;
constexpr int kMaxLogBytes = 1 << 20;
// Of texts for people, which lists repeat.
constexpr int64_t kMaxName = 1000;
constexpr int64_t kMaxReason = 1000;
// There are fewer statuses.
constexpr int kMaxStatuses = 20;
// There are fewer fields that hold paths, unless a graph's modules come from many files.
constexpr int kMaxPaths = 100;
// There are fewer fields that may change.
constexpr int kMaxSets = 100;

absl::Status CheckRange(int64_t value, int64_t min, int64_t max, const char* field) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": must be from ", min, " to ", max, ", got ", value));
}

// Of a text in bytes, or of a list.
absl::Status CheckSize(int64_t size, int64_t max, const char* field, const char* what) {
  if (size <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": has more than ", max, " ", what));
}

// In any case; empty: not asked for.
absl::Status CheckWord(const std::string& word, const std::vector<std::string>& allowed, const char* field) {
  if (word.empty() || std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", word, "' is unknown; allowed: ", absl::StrJoin(allowed, ", ")));
}

// A part of a file below `folder`, and its size; a file that is not there is empty.
absl::Status ReadPart(const std::string& folder, const std::string& name, int64_t offset, int limit, TrialLog* part) {
  const absl::StatusOr<UniqueFd> file = OpenFileBeneath(folder, name);
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

// Whether the file or folder is this one, as far as the system knows.
bool IsHere(const v1::PathStamp& stamp) {
  const absl::StatusOr<v1::PathStamp> here = StampOf(stamp.path());
  return here.ok() && here->inode() == stamp.inode() && here->size() == stamp.size() &&
         here->modified() == stamp.modified();
}

// Whether the journal says that the experiment went on after so many changes of its state. Errors: it ended before.
absl::StatusOr<bool> HasGoneOn(const std::string& folder, size_t earlier_states) {
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, reader.States());
  const std::string& id = reader.experiment().experiment();
  for (size_t i = earlier_states; i < states.size(); ++i) {
    const v1::StateChanged& change = states[i].change;
    if (change.state() == v1::RUNNING) return true;
    if (IsFinal(change.state())) {
      return absl::FailedPreconditionError(absl::StrCat(id, " ended before it went on: ", change.reason()));
    }
  }
  if (reader.holder().has_value()) return false;
  return absl::AbortedError(absl::StrCat(id, " ended before it went on, and nothing says why; see the head's log"));
}

}  // namespace

absl::StatusOr<ExperimentWatch::Batch> ExperimentWatch::Next() {
  // For this moment only: a transaction that stays open would keep SQLite from tidying its log.
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder_));
  waiter_->polls = reader.holder() != getpid();
  Batch batch;
  LANISTA_ASSIGN_OR_RETURN(batch.events, reader.EventsAfter(after_, kMaxEvents, kMaxEventBytes));
  if (!batch.events.empty()) {
    after_ = batch.events.back().number();
    return batch;
  }
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  if (IsFinal(state.change.state())) {
    batch.ended = true;
    LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, reader.States());
    if (!states.empty() && IsFinal(states.back().change.state())) return batch;
    // The journal could not be written any more: its last words are no fact.
    v1::ExperimentEvent& event = batch.events.emplace_back();
    event.set_experiment(reader.experiment().experiment());
    *event.mutable_time() = ToTimestamp(state.time);
    *event.mutable_state() = state.change;
    return batch;
  }
  if (reader.holder().has_value()) return batch;
  const std::string& id = reader.experiment().experiment();
  return absl::AbortedError(
      absl::StrCat("the process that ran ", id, " ended before the experiment did; `resume ", id, "` goes on with it"));
}

absl::StatusOr<v1::CreateExperimentReply> Experiments::Create(const v1::CreateExperimentRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckRunner());
  LANISTA_RETURN_IF_ERROR(
      CheckSize(static_cast<int64_t>(request.request_id().size()), kMaxRequestId, "request_id", "bytes"));
  LANISTA_RETURN_IF_ERROR(CheckSize(static_cast<int64_t>(request.config().name().size()), kMaxName, "name", "bytes"));
  LANISTA_RETURN_IF_ERROR(CheckPaths(request.config(), request.shared_paths()));
  LANISTA_ASSIGN_OR_RETURN(v1::ExperimentConfig config, CompleteConfig(request.config()));
  LANISTA_RETURN_IF_ERROR(CapByTrainingService(&config));
  const std::lock_guard<std::mutex> lock(creation_);
  LANISTA_RETURN_IF_ERROR(CheckRoom(config.name(), request.request_id()));
  v1::CreateExperimentReply reply;
  LANISTA_ASSIGN_OR_RETURN(*reply.mutable_experiment(), runner_->Create(config, request.request_id()));
  if (options_.uploads != nullptr) LANISTA_RETURN_IF_ERROR(options_.uploads->Keep(config, reply.experiment()));
  return reply;
}

absl::StatusOr<v1::ValidateExperimentReply> Experiments::Validate(const v1::ValidateExperimentRequest& request,
                                                                  const ExperimentRunner::Abandoned& abandoned) {
  LANISTA_RETURN_IF_ERROR(CheckRunner());
  LANISTA_RETURN_IF_ERROR(CheckRange(request.plan_models(), 0, kMaxPlanModels, "plan_models"));
  LANISTA_RETURN_IF_ERROR(CheckPaths(request.config(), request.shared_paths()));
  LANISTA_ASSIGN_OR_RETURN(v1::ExperimentConfig config, CompleteConfig(request.config()));
  LANISTA_RETURN_IF_ERROR(CapByTrainingService(&config));
  LANISTA_ASSIGN_OR_RETURN(v1::Validated validated, runner_->Validate(config, request.plan_models(), abandoned));
  v1::ValidateExperimentReply reply;
  reply.mutable_space()->Swap(validated.mutable_space());
  if (validated.has_plan()) reply.mutable_plan()->Swap(validated.mutable_plan());
  return reply;
}

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

absl::StatusOr<v1::StopExperimentReply> Experiments::Stop(const v1::StopExperimentRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckRunner());
  LANISTA_RETURN_IF_ERROR(CheckSize(static_cast<int64_t>(request.reason().size()), kMaxReason, "reason", "bytes"));
  v1::StopExperimentReply reply;
  LANISTA_ASSIGN_OR_RETURN(*reply.mutable_experiment(), Find(request.experiment()));
  const std::string& id = reply.experiment();
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  // Whatever its state: one that has come to its end may be about to go on.
  if (reader.holder() == getpid()) {
    runner_->Stop(id, request.reason().empty() ? "stopped by a client" : OneLine(request.reason()));
    return reply;
  }
  if (reader.holder().has_value()) {
    return absl::FailedPreconditionError(
        absl::StrCat(id, " is run by process ", *reader.holder(), ", not by this head: stop it there"));
  }
  LANISTA_ASSIGN_OR_RETURN(const StateRecord state, reader.State());
  if (IsFinal(state.change.state())) {
    return absl::FailedPreconditionError(absl::StrCat(id, " has come to its end already"));
  }
  return absl::FailedPreconditionError(absl::StrCat("nobody runs ", id, ": its process ended before it did"));
}

absl::StatusOr<v1::ResumeExperimentReply> Experiments::Resume(const v1::ResumeExperimentRequest& request,
                                                              const ExperimentRunner::Abandoned& abandoned) {
  LANISTA_RETURN_IF_ERROR(CheckRunner());
  LANISTA_RETURN_IF_ERROR(CheckSize(request.set_size(), kMaxSets, "set", "entries"));
  v1::ResumeExperimentReply reply;
  LANISTA_ASSIGN_OR_RETURN(*reply.mutable_experiment(), Find(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(reply.experiment()));
  LANISTA_RETURN_IF_ERROR(AwaitRelease(reply.experiment(), folder));
  v1::ExperimentConfig config;
  size_t earlier_states = 0;
  {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
    LANISTA_ASSIGN_OR_RETURN(
        config, ConfigToResume(reader.experiment().config(), {request.set().begin(), request.set().end()}));
    LANISTA_ASSIGN_OR_RETURN(const std::vector<StateRecord> states, reader.States());
    earlier_states = states.size();
  }
  // What `run` was told of its own devices says nothing about the head's.
  const bool sets_devices = std::any_of(request.set().begin(), request.set().end(), [](const std::string& one) {
    return absl::StartsWith(one, "training_service");
  });
  if (sets_devices) LANISTA_RETURN_IF_ERROR(CapByTrainingService(&config));
  LANISTA_RETURN_IF_ERROR(runner_->Resume(reply.experiment(), config, abandoned));
  LANISTA_RETURN_IF_ERROR(AwaitRunning(reply.experiment(), folder, earlier_states));
  return reply;
}

absl::StatusOr<v1::DeleteExperimentReply> Experiments::Delete(const v1::DeleteExperimentRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckRunner());
  LANISTA_RETURN_IF_ERROR(Annotate(CheckExperimentId(request.experiment()), "experiment"));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(request.experiment()));
  LANISTA_RETURN_IF_ERROR(AwaitRelease(request.experiment(), folder));
  const absl::StatusOr<JournalReader> reader = JournalReader::Open(folder);
  if (reader.ok() && reader->holder() == getpid()) {
    return absl::FailedPreconditionError(absl::StrCat(request.experiment(), " is running: stop it first"));
  }
  LANISTA_RETURN_IF_ERROR(RemoveExperiment(state_dir_, request.experiment()));
  if (options_.uploads != nullptr) options_.uploads->Sweep();
  v1::DeleteExperimentReply reply;
  reply.set_experiment(request.experiment());
  return reply;
}

absl::StatusOr<v1::FindPathsReply> Experiments::FindPaths(const v1::FindPathsRequest& request) {
  LANISTA_RETURN_IF_ERROR(CheckSize(request.paths_size(), kMaxPaths, "paths", "entries"));
  v1::FindPathsReply reply;
  for (const v1::PathStamp& path : request.paths()) reply.add_found(IsHere(path));
  if (options_.uploads != nullptr) reply.set_upload_limit(options_.uploads->max_bytes());
  return reply;
}

absl::StatusOr<std::unique_ptr<Upload>> Experiments::BeginUpload(v1::UploadList list) {
  if (options_.uploads != nullptr) return options_.uploads->Begin(std::move(list));
  return absl::FailedPreconditionError("nobody can upload here: this only shows what is in the state folder");
}

absl::Status Experiments::CheckPaths(const v1::ExperimentConfig& config,
                                     const google::protobuf::RepeatedPtrField<v1::PathStamp>& shared) const {
  LANISTA_RETURN_IF_ERROR(CheckSize(shared.size(), kMaxPaths, "shared_paths", "entries"));
  return VisitPaths(config, [&](const std::string& field, const std::string& path) {
    // What is wrong with it is found with the rest.
    if (IsDataPath(path)) return absl::OkStatus();
    const auto stamp = std::find_if(shared.begin(), shared.end(),
                                    [&path](const v1::PathStamp& candidate) { return candidate.path() == path; });
    if (stamp != shared.end() && IsHere(*stamp)) return absl::OkStatus();
    if (options_.uploads != nullptr && options_.uploads->Has(path)) return absl::OkStatus();
    return BarePathError(field, path);
  });
}

absl::StatusOr<Json> Experiments::ListTrials(const v1::ListTrialsRequest& request) {
  if (!v1::ListTrialsRequest::View_IsValid(request.view())) {
    return absl::InvalidArgumentError(absl::StrCat("view: this head has no view ", static_cast<int>(request.view())));
  }
  LANISTA_RETURN_IF_ERROR(CheckWord(request.sort(), {"model", "best", "duration"}, "sort"));
  LANISTA_RETURN_IF_ERROR(
      CheckWord(absl::AsciiStrToUpper(request.status()),
                {"QUEUED", "RUNNING", "INTERRUPTED", "SUCCEEDED", "FAILED", "STOPPED_EARLY", "CANCELED", "INFEASIBLE"},
                "status"));
  LANISTA_RETURN_IF_ERROR(CheckRange(request.limit(), 0, std::numeric_limits<int>::max(), "limit"));
  LANISTA_ASSIGN_OR_RETURN(const std::string id, Find(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(id));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  if (request.view() == v1::ListTrialsRequest::MERGED) return MergedTrialsDocument(reader);
  if (request.view() == v1::ListTrialsRequest::CSV) {
    TrialsCsvOptions options;
    options.for_terminal = request.for_terminal();
    return TrialsCsvDocument(reader, request.limit(), options);
  }
  LANISTA_ASSIGN_OR_RETURN(Json document, TrialsDocument(reader));
  SelectTrials(request.sort().empty() ? "model" : request.sort(), request.status(), request.limit(), &document);
  return document;
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

absl::StatusOr<ExperimentPlace> Experiments::Locate(const std::string& experiment) const {
  ExperimentPlace place;
  LANISTA_ASSIGN_OR_RETURN(place.id, Find(experiment));
  LANISTA_ASSIGN_OR_RETURN(place.folder, state_dir_.ExperimentFolder(place.id));
  return place;
}

absl::StatusOr<std::unique_ptr<ExperimentWatch>> Experiments::Watch(const v1::WatchRequest& request,
                                                                    std::function<void()> wake) {
  LANISTA_RETURN_IF_ERROR(CheckRange(request.after(), 0, std::numeric_limits<int64_t>::max(), "after"));
  LANISTA_ASSIGN_OR_RETURN(const std::string id, Find(request.experiment()));
  LANISTA_ASSIGN_OR_RETURN(std::string folder, state_dir_.ExperimentFolder(id));
  std::unique_ptr<ExperimentWatch> watch(new ExperimentWatch(std::move(folder), request.after()));
  watch->waiter_ = news_.Wait(id, std::move(wake));
  return watch;
}

void Experiments::WakeWatches() { news_.PublishAll(); }

absl::StatusOr<std::string> Experiments::Find(const std::string& experiment) const {
  absl::StatusOr<std::string> id = FindExperiment(state_dir_, experiment);
  if (!id.ok()) return Annotate(id.status(), "experiment");
  return id;
}

absl::Status Experiments::CheckRoom(const std::string& name, const std::string& request_id) const {
  LANISTA_ASSIGN_OR_RETURN(const std::vector<std::string> ids, state_dir_.List());
  if (ids.size() < static_cast<size_t>(options_.max_experiments)) return absl::OkStatus();
  // A request that comes again makes none.
  for (int attempt = 0; !request_id.empty(); ++attempt) {
    const std::string id = StateDir::IdOfRequest(name, request_id, attempt);
    if (!std::binary_search(ids.begin(), ids.end(), id)) break;
    LANISTA_ASSIGN_OR_RETURN(const std::string folder, state_dir_.ExperimentFolder(id));
    const absl::StatusOr<JournalReader> earlier = JournalReader::Open(folder);
    if (earlier.ok() && earlier->experiment().request_id() == request_id) return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("this head has ", Counted(static_cast<int64_t>(ids.size()), "experiment"), ", and takes ",
                   options_.max_experiments, " (`serve --max-experiments`): `delete` those that nobody needs"));
}

absl::Status Experiments::AwaitRelease(const std::string& id, const std::string& folder) {
  const bool released = news_.WaitUntil(id, options_.patience.release, [&folder] {
    const absl::StatusOr<JournalReader> reader = JournalReader::Open(folder);
    // The caller finds out what is wrong with it.
    if (!reader.ok() || reader->holder() != getpid()) return true;
    const absl::StatusOr<StateRecord> state = reader->State();
    return !state.ok() || !IsFinal(state->change.state());
  });
  if (released) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(id,
                   " has come to its end, but this head still holds it: it writes the last of it, or is about to go "
                   "on with it; try again in a moment"));
}

absl::Status Experiments::AwaitRunning(const std::string& id, const std::string& folder, size_t earlier_states) {
  absl::Status status;
  const bool known = news_.WaitUntil(id, options_.patience.running, [&] {
    const absl::StatusOr<bool> gone_on = HasGoneOn(folder, earlier_states);
    status = gone_on.status();
    return !gone_on.ok() || *gone_on;
  });
  if (known) return status;
  return absl::DeadlineExceededError(absl::StrCat(id, " was taken up, but its journal has not said so for ",
                                                  absl::FormatDuration(options_.patience.running),
                                                  ": is its disk full? `watch ", id, "` shows when it goes on"));
}

absl::Status Experiments::CheckModelMaker() const {
  if (options_.model_maker != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("this server has no trial program: it makes no graphs and exports nothing");
}

absl::Status Experiments::CheckRunner() const {
  if (runner_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("nothing runs here: this only shows what is in the state folder");
}

}  // namespace lanista
