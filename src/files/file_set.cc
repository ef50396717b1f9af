#include "src/files/file_set.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "src/base/open_beneath.h"
#include "src/base/read_file.h"
#include "src/base/sha256_stream.h"
#include "src/base/status.h"
#include "src/base/unfinished_files.h"
#include "src/files/file_set_writer.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

constexpr size_t kPieceBytes = size_t{256} << 10;

absl::Status CannotRead(const std::string& path, const std::string& why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": ", why));
}

absl::Status HasChanged(const std::string& path) {
  return absl::DataLossError(absl::StrCat(path, " changed while it was read"));
}

// Renaming another file over it, and links to it, leave its content as it was.
bool SameContent(const FileStamp& a, const FileStamp& b) {
  return a.device == b.device && a.inode == b.inode && a.size == b.size && a.modified == b.modified;
}

}  // namespace

absl::Status CheckLimits(size_t files, int64_t bytes, const FileSetLimits& limits) {
  if (files <= limits.files && bytes <= limits.bytes) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      files, " files with ", bytes, " bytes, and ", limits.files, " files with ", limits.bytes,
      " bytes can come at a time from a node that does not see the head's files (share the state folder for more)"));
}

absl::StatusOr<std::vector<FoundFile>> FindFiles(const std::string& folder) {
  std::vector<FoundFile> found;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) return found;
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string().substr(folder.size() + 1);
    struct stat info = {};
    // A folder is not entered where its entries could have no names at the other side.
    if (!CheckSetPath(path + "/x").ok()) entry.disable_recursion_pending();
    // Whatever is gone since was about to be replaced.
    if (lstat(entry->path().c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (absl::StartsWith(entry->path().filename().string(), kUnfinishedPrefix) || !CheckSetPath(path).ok()) continue;
    found.push_back({path, FileStamp::Of(info)});
  }
  // A folder that goes while it is read is found as far as it went.
  if (error && error != std::errc::no_such_file_or_directory) return CannotRead(folder, error.message());
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return found;
}

absl::StatusOr<UniqueFd> FileSetReader::OpenFile(const FoundFile& file) const {
  absl::StatusOr<UniqueFd> opened = OpenFileBeneath(folder_, file.path);
  if (absl::IsNotFound(opened.status())) return HasChanged(absl::StrCat(folder_, "/", file.path));
  if (!opened.ok()) return CannotRead(absl::StrCat(folder_, "/", file.path), std::string(opened.status().message()));
  struct stat info = {};
  if (fstat(opened->get(), &info) != 0 || !SameContent(FileStamp::Of(info), file.stamp)) {
    return HasChanged(absl::StrCat(folder_, "/", file.path));
  }
  return opened;
}

absl::StatusOr<FileSetReader> FileSetReader::Open(const std::string& folder, const std::vector<FoundFile>& found,
                                                  const FileSetLimits& limits, const std::function<bool()>& stop) {
  int64_t bytes = 0;
  for (const FoundFile& file : found) bytes += file.stamp.size;
  LANISTA_RETURN_IF_ERROR(CheckLimits(found.size(), bytes, limits));
  FileSetReader reader(folder);
  reader.found_ = found;
  const bool hold = found.size() <= kCheckpointLimits.files;
  // All of them at one moment, and then their contents, which takes longer.
  for (const FoundFile& file : found) {
    if (!hold) break;
    LANISTA_ASSIGN_OR_RETURN(UniqueFd opened, reader.OpenFile(file));
    reader.held_.push_back(std::move(opened));
  }
  for (size_t i = 0; i < found.size(); ++i) {
    const std::string path = absl::StrCat(folder, "/", found[i].path);
    UniqueFd opened;
    if (!hold) {
      LANISTA_ASSIGN_OR_RETURN(opened, reader.OpenFile(found[i]));
    }
    v1::SetFile& file = *reader.files_.add_files();
    file.set_path(found[i].path);
    file.set_size(found[i].stamp.size);
    absl::StatusOr<std::string> digest = Sha256OfFile(hold ? reader.held_[i].get() : opened.get(), path, stop);
    if (absl::IsCancelled(digest.status())) return digest.status();
    if (!digest.ok()) return CannotRead(path, std::string(digest.status().message()));
    file.set_sha256(*std::move(digest));
  }
  return reader;
}

absl::StatusOr<bool> FileSetReader::Next(std::string* piece) {
  for (; file_ < found_.size(); ++file_, offset_ = 0) {
    const std::string path = absl::StrCat(folder_, "/", found_[file_].path);
    const bool held = !held_.empty();
    if (!held && offset_ == 0) {
      LANISTA_ASSIGN_OR_RETURN(open_, OpenFile(found_[file_]));
    }
    const int64_t left = found_[file_].stamp.size - offset_;
    if (left == 0) continue;
    const size_t most = std::min(kPieceBytes, static_cast<size_t>(left));
    const absl::Status read = ReadPiece(held ? held_[file_].get() : open_.get(), path, offset_, most, piece);
    if (!read.ok()) return absl::FailedPreconditionError(read.message());
    if (piece->empty()) return HasChanged(path);
    offset_ += static_cast<int64_t>(piece->size());
    return true;
  }
  return false;
}

}  // namespace lanista
