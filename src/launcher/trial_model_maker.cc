#include "src/launcher/trial_model_maker.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"
#include "src/base/status.h"
#include "src/base/temporary_folder.h"
#include "src/exporters/results/exporter.h"
#include "src/files/conversion_folder.h"
#include "src/graph/graph.h"
#include "src/graph/io.h"
#include "src/ops/registry.h"
#include "src/storage/journal.h"
#include "src/storage/state_dir.h"
#include "src/views/graph_view.h"

namespace lanista {
namespace {

using Json = nlohmann::ordered_json;

// How often a caller that waits for its turn is asked whether it still needs the result.
constexpr std::chrono::milliseconds kAbandonedInterval{100};

// The program that discovered the experiment's space; empty: it is not known.
absl::StatusOr<std::string> ProgramOf(const JournalReader& reader) {
  LANISTA_ASSIGN_OR_RETURN(const std::optional<v1::Discovered> discovery, reader.Discovery());
  return discovery.has_value() ? discovery->program() : "";
}

}  // namespace

class TrialModelMaker::Turn {
 public:
  explicit Turn(TrialModelMaker* maker) : maker_(maker) {}
  Turn(Turn&& other) noexcept : maker_(std::exchange(other.maker_, nullptr)) {}
  Turn& operator=(Turn&&) = delete;
  ~Turn() {
    if (maker_ != nullptr) maker_->EndTurn();
  }

 private:
  TrialModelMaker* maker_;
};

absl::StatusOr<TrialModelMaker::Turn> TrialModelMaker::AwaitTurn(const Abandoned& abandoned) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (line_.size() > options_.max_waiting) {
    return absl::ResourceExhaustedError(
        absl::StrCat(line_.size(), " graphs and exports wait to be made already; try again in a moment"));
  }
  const int64_t number = ++last_number_;
  line_.push_back(number);
  while (!turn_ended_.wait_for(lock, kAbandonedInterval, [&] { return line_.front() == number; })) {
    if (!abandoned || !abandoned()) continue;
    line_.erase(std::find(line_.begin(), line_.end(), number));
    return absl::CancelledError("nobody waits for it any more");
  }
  return Turn(this);
}

void TrialModelMaker::EndTurn() {
  std::unique_ptr<TrialSession> unused;
  const std::lock_guard<std::mutex> lock(mutex_);
  line_.pop_front();
  if (line_.empty()) unused = std::move(session_);
  turn_ended_.notify_all();
}

absl::StatusOr<TrialModelMaker::Text> TrialModelMaker::Graph(const std::string& folder, int model,
                                                             const Abandoned& abandoned) {
  v1::SpaceModel model_source;
  Source source{folder, ""};
  std::string key;
  {
    LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
    LANISTA_ASSIGN_OR_RETURN(const ModelRecord record, reader.FindModel(model));
    LANISTA_ASSIGN_OR_RETURN(model_source, SpaceModelOf(reader, record));
    LANISTA_ASSIGN_OR_RETURN(source.program, ProgramOf(reader));
    // A model may turn out to have another sample than the proposed one.
    key = absl::StrCat(reader.experiment().experiment(), " ", model, " ", record.sample_json);
  }
  if (Text kept = FindKept(key); kept != nullptr) return kept;
  LANISTA_ASSIGN_OR_RETURN(const Turn turn, AwaitTurn(abandoned));
  // Another caller may have made the same graph meanwhile.
  if (Text kept = FindKept(key); kept != nullptr) return kept;
  LANISTA_ASSIGN_OR_RETURN(std::string text, MakeGraph(model_source, source, abandoned));
  auto made = std::make_shared<const std::string>(std::move(text));
  Keep(key, made);
  return made;
}

absl::StatusOr<ModelMaker::Exported> TrialModelMaker::Export(const std::string& folder, const ExportRequest& request,
                                                             const std::string& out, const Abandoned& abandoned) {
  LANISTA_ASSIGN_OR_RETURN(const Turn turn, AwaitTurn(abandoned));
  LANISTA_ASSIGN_OR_RETURN(const JournalReader reader, JournalReader::Open(folder));
  Source source{folder, ""};
  LANISTA_ASSIGN_OR_RETURN(source.program, ProgramOf(reader));
  Exported exported;
  const GraphConverter convert = [&](const v1::Convert& convert) -> absl::StatusOr<std::vector<std::string>> {
    LANISTA_ASSIGN_OR_RETURN(const v1::Converted converted, Convert(convert, source, abandoned));
    exported.warnings.insert(exported.warnings.end(), converted.warnings().begin(), converted.warnings().end());
    return std::vector<std::string>(converted.files().begin(), converted.files().end());
  };
  const auto check = [&](int64_t bytes) -> absl::Status {
    if (abandoned && abandoned()) return absl::CancelledError("nobody waits for it any more");
    if (bytes <= options_.max_exported_bytes) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat("one export may have ", options_.max_exported_bytes >> 20,
                     " MiB here, and this one has more: export fewer models at a time, or with `export` where the "
                     "state folder is"));
  };
  LANISTA_ASSIGN_OR_RETURN(exported.files,
                           ExportBest(reader, {request.top, request.format, out, request.untrained, check}, convert));
  return exported;
}

absl::StatusOr<std::string> TrialModelMaker::MakeGraph(const v1::SpaceModel& model, const Source& source,
                                                       const Abandoned& abandoned) {
  LANISTA_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make());
  v1::Convert request;
  *request.mutable_model() = model;
  request.set_format("graph");
  request.set_out(folder.path() + "/model");
  LANISTA_ASSIGN_OR_RETURN(const v1::Converted converted, Convert(request, source, abandoned));
  if (converted.files().empty()) return absl::InternalError("the trial program wrote no graph");
  LANISTA_ASSIGN_OR_RETURN(const v1::ModelGraph graph, graph::ReadFile(converted.files(0)));
  LANISTA_RETURN_IF_ERROR(graph::Validate(graph, ops::FindOp));
  LANISTA_ASSIGN_OR_RETURN(const Json document, GraphDocument(graph, ops::FindOp));
  return JsonLine(document);
}

absl::StatusOr<v1::Converted> TrialModelMaker::Convert(const v1::Convert& request, const Source& source,
                                                       const Abandoned& abandoned) {
  if (options_.nodes) {
    absl::StatusOr<v1::Converted> converted = ConvertOnNode(request, source, abandoned);
    if (!absl::IsUnavailable(converted.status())) return converted;
    const absl::Status started = StartSession(abandoned);
    // Clients take UNAVAILABLE for a head that cannot be reached.
    if (absl::IsFailedPrecondition(started)) {
      return absl::FailedPreconditionError(absl::StrCat(
          converted.status().message(), ", and the head's machine cannot do it itself: ", started.message()));
    }
  }
  LANISTA_RETURN_IF_ERROR(StartSession(abandoned));
  absl::StatusOr<v1::Converted> converted = session_->Convert(request, abandoned);
  // The process may have ended, or may still be at work.
  if (!converted.ok()) session_ = nullptr;
  return converted;
}

absl::StatusOr<v1::Converted> TrialModelMaker::ConvertOnNode(const v1::Convert& request, const Source& source,
                                                             const Abandoned& abandoned) {
  LANISTA_ASSIGN_OR_RETURN(const ConversionFolder folder,
                           ConversionFolder::Make(absl::StrCat(source.folder, "/", IncomingFolder())));
  LANISTA_ASSIGN_OR_RETURN(const v1::Converted converted,
                           options_.nodes(folder.ForNode(request), source.program, abandoned));
  return folder.Take(converted, request.out());
}

absl::Status TrialModelMaker::StartSession(const Abandoned& abandoned) {
  if (session_ != nullptr) return absl::OkStatus();
  absl::StatusOr<std::unique_ptr<TrialSession>> session = TrialSession::Start(program_, options_.limits, abandoned);
  if (absl::IsNotFound(session.status()) || absl::IsUnavailable(session.status())) {
    return absl::FailedPreconditionError(session.status().message());
  }
  if (!session.ok()) return session.status();
  session_ = *std::move(session);
  return absl::OkStatus();
}

TrialModelMaker::Text TrialModelMaker::FindKept(const std::string& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(kept_.begin(), kept_.end(), [&key](const auto& kept) { return kept.first == key; });
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->second;
}

void TrialModelMaker::Keep(const std::string& key, const Text& text) {
  const std::lock_guard<std::mutex> lock(mutex_);
  kept_.emplace_front(key, text);
  size_t bytes = 0;
  for (auto kept = kept_.begin(); kept != kept_.end();) {
    bytes += kept->second->size();
    kept = bytes > options_.max_kept_bytes ? kept_.erase(kept) : std::next(kept);
  }
}

}  // namespace lanista
