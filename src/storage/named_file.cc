#include "src/storage/named_file.h"

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/file_stamp.h"
#include "src/base/status.h"

namespace lanista {

absl::StatusOr<NamedFile> NamedFile::At(std::string path) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return ErrnoToStatus(errno, path);
  return NamedFile(std::move(path), found);
}

absl::StatusOr<NamedFile> NamedFile::Of(int descriptor, std::string path) {
  struct stat found;
  if (fstat(descriptor, &found) != 0) return ErrnoToStatus(errno, path);
  return NamedFile(std::move(path), found);
}

NamedFile::NamedFile(std::string path, const struct stat& found) : path_(std::move(path)), file_(found) {}

absl::Status NamedFile::Check() const {
  struct stat found;
  if (stat(path_.c_str(), &found) != 0) {
    const int error = errno;
    // The system could not look.
    if (error == EIO || error == ENOMEM) return absl::OkStatus();
    if (error == ENOENT || error == ENOTDIR) {
      return absl::DataLossError(absl::StrCat(path_, " was deleted or moved while the search ran"));
    }
    return absl::DataLossError(
        absl::StrCat(ErrnoToStatus(error, path_).message(), " (it could be reached when the search began)"));
  }
  if (IsSameFile(found, file_)) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(path_, " was replaced by another file while the search ran"));
}

}  // namespace lanista
