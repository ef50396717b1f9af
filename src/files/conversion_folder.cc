#include "src/files/conversion_folder.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/bounded_message.h"
#include "src/base/display_text.h"
#include "src/base/held_folder.h"
#include "src/base/open_beneath.h"
#include "src/base/output_files.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/base/unique_id.h"
#include "src/files/trial_outputs.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// A conversion warns of layers whose weights could not be kept; a node that lies may say anything.
constexpr int kMaxWarnings = 100;

constexpr int kMakeAttempts = 3;

std::string OutputFolder(const std::string& folder) { return absl::StrCat(folder, "/output"); }

// Copies a file that a node wrote: what is read is the file that was checked, and not what may take its place.
absl::Status CopyWritten(const std::string& folder, const std::string& name, const std::string& to) {
  const absl::StatusOr<UniqueFd> from = OpenFileBeneath(folder, name);
  if (absl::IsNotFound(from.status())) {
    return absl::InternalError(absl::StrCat("the node says that it wrote ", Printable(name), ", and it did not come"));
  }
  if (!from.ok()) return from.status();
  return CopyFile(from->get(), absl::StrCat(folder, "/", name), to);
}

}  // namespace

absl::StatusOr<ConversionFolder> ConversionFolder::Make(const std::string& parent,
                                                        const std::function<void(const std::string& folder)>& made) {
  for (int attempt = 1;; ++attempt) {
    ConversionFolder folder(absl::StrCat(parent, "/", NewUniqueId()));
    absl::Status status = folder.MakeAndHold(made);
    if (status.ok()) return folder;
    // A resume may have removed `parent`, or the folder before it was held, or is about to.
    const bool removed = absl::IsNotFound(status) || absl::IsAborted(status) || absl::IsAlreadyExists(status);
    if (!removed || attempt == kMakeAttempts) return status;
  }
}

absl::Status ConversionFolder::MakeAndHold(const std::function<void(const std::string& folder)>& made) {
  std::error_code error;
  fs::create_directories(OutputFolder(path_), error);
  if (error) return ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", path_));
  if (made) made(path_);
  LANISTA_ASSIGN_OR_RETURN(lock_, HoldFolder(path_));
  // Whoever removed it meanwhile held it: now it is gone, or it stays.
  if (fs::is_directory(OutputFolder(path_), error)) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("the folder ", path_, " was removed; try again"));
}

ConversionFolder::~ConversionFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

v1::Convert ConversionFolder::ForNode(v1::Convert request) const {
  request.set_out(absl::StrCat(OutputFolder(path_), "/", fs::path(request.out()).filename().string()));
  // Files of the head's, beside which nothing is written now.
  request.clear_keep();
  return request;
}

absl::StatusOr<v1::Converted> ConversionFolder::Take(const v1::Converted& converted, const std::string& out) const {
  const fs::path place = fs::path(out).parent_path();
  const std::string prefix = absl::StrCat(fs::path(out).filename().string(), ".");
  v1::Converted taken;
  std::set<std::string> names;
  for (const std::string& file : converted.files()) {
    // The node names its own folder.
    const std::string name = fs::path(file).filename().string();
    if (!absl::StartsWith(name, prefix) || !names.insert(name).second) {
      return absl::InternalError(
          absl::StrCat("the node says that it wrote '", Printable(BoundedMessage(name)), "', which was not asked for"));
    }
    taken.add_files((place / name).string());
    LANISTA_RETURN_IF_ERROR(CopyWritten(OutputFolder(path_), name, taken.files(taken.files_size() - 1)));
  }
  for (int i = 0; i < std::min(converted.warnings_size(), kMaxWarnings); ++i) {
    taken.add_warnings(BoundedMessage(converted.warnings(i)));
  }
  return taken;
}

v1::AssignmentOutputs OutputsOf(const v1::Convert& request) {
  const fs::path output = fs::path(request.out()).parent_path();
  v1::AssignmentOutputs outputs;
  outputs.set_temporary(true);
  outputs.set_folder(output.parent_path().parent_path().string());
  outputs.set_incoming_folder((output.parent_path() / "incoming").string());
  v1::ModelOutputs& files = *outputs.add_models();
  files.set_model(kConvertedModel);
  files.set_output_folder(output.string());
  return outputs;
}

}  // namespace lanista
