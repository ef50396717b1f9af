#include "src/files/served_inputs.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/status.h"
#include "src/files/regular_file.h"

namespace lanista {
namespace {

constexpr size_t kPieceBytes = size_t{256} << 10;
// Sets that are remembered.
constexpr size_t kMaxSets = 64;

absl::Status HasChanged(const std::string& path, const std::string& how) {
  return absl::FailedPreconditionError(absl::StrCat(path, " has changed at the head since the experiment began", how,
                                                    ": put back the file that was there, or start a new experiment"));
}

}  // namespace

absl::StatusOr<bool> ServedFile::Next(std::string* piece) {
  piece->resize(kPieceBytes);
  ssize_t count = 0;
  do {
    count = pread(file_.get(), &(*piece)[0], piece->size(), offset_);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return ErrnoToStatus(errno, absl::StrCat("cannot read ", path_));
  piece->resize(static_cast<size_t>(count));
  offset_ += count;
  if (count > 0 && offset_ <= stamp_.size) return true;
  struct stat info = {};
  if (offset_ != stamp_.size || fstat(file_.get(), &info) != 0 || FileStamp::Of(info) != stamp_) {
    return HasChanged(path_, ", while it was sent");
  }
  return false;
}

std::shared_ptr<ServedInputs::Entry> ServedInputs::Find(const v1::AssignmentInputs& inputs) {
  const std::string nul(1, '\0');
  const std::string key = absl::StrCat(inputs.experiment(), nul, absl::StrJoin(inputs.paths(), nul), nul, nul,
                                       absl::StrJoin(inputs.graph_files(), nul));
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return entry->key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->key = key;
    if (entries_.size() > kMaxSets) entries_.pop_back();
  }
  return entries_.front();
}

absl::StatusOr<ServedInputs::SetPtr> ServedInputs::List(const v1::AssignmentInputs& inputs) {
  const std::shared_ptr<Entry> entry = Find(inputs);
  const std::lock_guard<std::mutex> lock(entry->mutex);
  if (entry->set == nullptr || inputs.experiment().empty()) {
    LANISTA_ASSIGN_OR_RETURN(InputSet set, InputSet::Read(inputs, &digests_));
    entry->set = std::make_shared<const InputSet>(std::move(set));
  }
  return entry->set;
}

absl::StatusOr<ServedFile> ServedInputs::Open(const v1::AssignmentInputs& inputs, const std::string& sha256) {
  LANISTA_ASSIGN_OR_RETURN(const SetPtr set, List(inputs));
  const v1::InputFile* const listed = set->Find(sha256);
  if (listed == nullptr) {
    return absl::PermissionDeniedError("the assignment reads no file with this SHA-256");
  }
  FileStamp stamp;
  absl::StatusOr<UniqueFd> file = OpenRegularFile(listed->path(), &stamp);
  if (absl::IsNotFound(file.status())) return HasChanged(listed->path(), " (it is gone)");
  LANISTA_RETURN_IF_ERROR(file.status());
  // What was put back has other times, and the same content.
  LANISTA_ASSIGN_OR_RETURN(const std::string digest, digests_.Of(file->get(), stamp, listed->path()));
  if (digest != sha256) return HasChanged(listed->path(), "");
  return ServedFile(listed->path(), *std::move(file), stamp);
}

}  // namespace lanista
