#include "src/files/received_outputs.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/open_beneath.h"
#include "src/base/status.h"
#include "src/base/unique_id.h"

namespace lanista {
namespace {

// `path` relative to the experiment's folder; PERMISSION_DENIED: it is nowhere in it.
absl::StatusOr<std::string> Beneath(const std::string& folder, const std::string& path) {
  const std::string prefix = folder + "/";
  if (folder.empty() || !absl::StartsWith(path, prefix) || !CheckSetPath(path.substr(prefix.size())).ok()) {
    return absl::PermissionDeniedError("the assignment writes no such thing into its experiment's folder");
  }
  return path.substr(prefix.size());
}

absl::StatusOr<v1::ModelOutputs> FindModel(const v1::AssignmentOutputs& outputs, int model) {
  const auto found = std::find_if(outputs.models().begin(), outputs.models().end(),
                                  [model](const v1::ModelOutputs& one) { return one.model() == model; });
  if (found != outputs.models().end()) return *found;
  return absl::PermissionDeniedError(
      absl::StrCat("model ", model, " has ended here, or is none of the assignment's: nothing more of it is taken"));
}

// Where it belongs, relative to the experiment's folder.
absl::StatusOr<std::string> PlaceOf(const v1::AssignmentOutputs& outputs, const v1::OutputHeader& header) {
  if (header.has_output_of()) {
    LANISTA_ASSIGN_OR_RETURN(const v1::ModelOutputs model, FindModel(outputs, header.output_of()));
    return Beneath(outputs.folder(), model.output_folder());
  }
  if (header.has_checkpoint_of()) {
    LANISTA_ASSIGN_OR_RETURN(const v1::ModelOutputs model, FindModel(outputs, header.checkpoint_of()));
    return Beneath(outputs.folder(), model.checkpoint_folder());
  }
  if (!header.log()) return absl::InvalidArgumentError("the node does not say what it delivers");
  return Beneath(outputs.folder(), outputs.log_file());
}

}  // namespace

absl::StatusOr<ReceivedOutput> ReceivedOutput::Begin(const v1::AssignmentOutputs& outputs,
                                                     const v1::OutputHeader& header, DiskRoom* room) {
  LANISTA_ASSIGN_OR_RETURN(const std::string place, PlaceOf(outputs, header));
  const FileSetLimits limits = header.has_output_of()       ? kOutputLimits
                               : header.has_checkpoint_of() ? kCheckpointLimits
                                                            : kLogLimits;
  if (header.log() && header.files().files_size() != 1) {
    return absl::InvalidArgumentError("a log is one file");
  }
  LANISTA_ASSIGN_OR_RETURN(const std::string incoming, Beneath(outputs.folder(), outputs.incoming_folder()));
  const absl::Status made = MakeFolderBeneath(outputs.folder(), incoming).status();
  if (!made.ok()) return absl::UnavailableError(made.message());
  LANISTA_ASSIGN_OR_RETURN(
      std::unique_ptr<FileSetWriter> writer,
      FileSetWriter::Begin(header.files(), absl::StrCat(outputs.incoming_folder(), "/", NewUniqueId()), limits));
  std::unique_ptr<DiskRoom::Taken> taken;
  if (!outputs.temporary()) {
    uint64_t bytes = 0;
    for (const v1::SetFile& file : header.files().files()) bytes += static_cast<uint64_t>(file.size());
    // A model ends once its output has come. A checkpoint, and what a trial printed, may come later, or never.
    const std::string waits = header.has_output_of() ? place : "";
    LANISTA_ASSIGN_OR_RETURN(taken, room->Take(outputs.folder(), bytes, waits));
  }
  v1::OutputHeader kept = header;
  kept.clear_files();
  return ReceivedOutput(std::move(kept), std::move(taken), std::move(writer));
}

absl::Status ReceivedOutput::Write(absl::string_view bytes) {
  LANISTA_RETURN_IF_ERROR(writer_->Write(bytes));
  if (room_ != nullptr) room_->Written(bytes.size());
  return absl::OkStatus();
}

absl::Status ReceivedOutput::Commit(const v1::AssignmentOutputs& outputs) {
  LANISTA_RETURN_IF_ERROR(writer_->Finish());
  LANISTA_ASSIGN_OR_RETURN(const std::string place, PlaceOf(outputs, header_));
  return header_.log() ? writer_->MoveFile(outputs.folder(), place) : writer_->MoveFolder(outputs.folder(), place);
}

absl::StatusOr<FileSetReader> ReadCheckpoint(const v1::AssignmentOutputs& outputs, int model) {
  LANISTA_ASSIGN_OR_RETURN(const v1::ModelOutputs found, FindModel(outputs, model));
  LANISTA_RETURN_IF_ERROR(Beneath(outputs.folder(), found.checkpoint_folder()).status());
  LANISTA_ASSIGN_OR_RETURN(const std::vector<FoundFile> files, FindFiles(found.checkpoint_folder()));
  return FileSetReader::Open(found.checkpoint_folder(), files, kCheckpointLimits);
}

}  // namespace lanista
