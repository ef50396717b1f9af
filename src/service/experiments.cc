#include "src/service/experiments.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/base/status.h"
#include "src/config/config.h"
#include "src/config/data_paths.h"
#include "src/config/paths.h"
#include "src/service/path_stamp.h"
#include "src/service/request_checks.h"
#include "src/service/submitted_devices.h"
#include "src/storage/find_experiment.h"
#include "src/storage/journal.h"

namespace lanista {
namespace {

constexpr int kMaxPlanModels = 1000;
constexpr int64_t kMaxRequestId = 100;
// Of texts for people, which lists repeat.
constexpr int64_t kMaxName = 1000;
constexpr int64_t kMaxReason = 1000;
// There are fewer fields that hold paths, unless a graph's modules come from many files.
constexpr int kMaxPaths = 100;
// There are fewer fields that may change.
constexpr int kMaxSets = 100;

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
    if (change.state() == v1::ExperimentState::RUNNING) return true;
    if (IsFinal(change.state())) {
      return absl::FailedPreconditionError(absl::StrCat(id, " ended before it went on: ", change.reason()));
    }
  }
  if (reader.holder().has_value()) return false;
  return absl::AbortedError(absl::StrCat(id, " ended before it went on, and nothing says why; see the head's log"));
}

bool Sets(const v1::ResumeExperimentRequest& request, const std::string& field) {
  return std::any_of(request.set().begin(), request.set().end(),
                     [&field](const std::string& one) { return absl::StartsWith(one, field); });
}

// CapByTrainingService for an experiment that goes on. An earlier cap is its trial_concurrency by now, so more is not
// had by devices alone.
absl::Status CapAnew(const v1::ResumeExperimentRequest& request, v1::ExperimentConfig* config) {
  v1::ExperimentConfig asked = *config;
  asked.clear_trial_concurrency();
  LANISTA_RETURN_IF_ERROR(CapByTrainingService(&asked));
  LANISTA_RETURN_IF_ERROR(CapByTrainingService(config));
  if (asked.trial_concurrency() <= config->trial_concurrency() || Sets(request, "trial_concurrency")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("training_service: at most ", Counted(config->trial_concurrency(), "trial"),
                   " of this experiment may run at once (its trial_concurrency): for more, set trial_concurrency=",
                   asked.trial_concurrency(), ", too"));
}

}  // namespace

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
  if (options_.uploads != nullptr) options_.uploads->Keep(config, reply.experiment());
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
    if (!news_.WaitUntil(id, options_.patience.known, [&] { return runner_->Runs(id); })) {
      return absl::FailedPreconditionError(
          absl::StrCat(id, " is another search of this process: stop it where it was started"));
    }
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
  if (Sets(request, "training_service")) LANISTA_RETURN_IF_ERROR(CapAnew(request, &config));
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

absl::StatusOr<ExperimentPlace> Experiments::Locate(const std::string& experiment) const {
  ExperimentPlace place;
  LANISTA_ASSIGN_OR_RETURN(place.id, Find(experiment));
  LANISTA_ASSIGN_OR_RETURN(place.folder, state_dir_.ExperimentFolder(place.id));
  return place;
}

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

absl::Status Experiments::CheckRunner() const {
  if (runner_ != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("nothing runs here: this only shows what is in the state folder");
}

}  // namespace lanista
