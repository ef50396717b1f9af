#include "src/files/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

absl::Status CannotRead(const std::string& path, const char* why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": ", why));
}

// Says nothing about the file.
bool MayPass(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM || error == EIO || error == ESTALE;
}

}  // namespace

absl::StatusOr<UniqueFd> OpenRegularFile(const std::string& path, FileStamp* stamp) {
  const auto error = [&path]() -> absl::Status {
    if (MayPass(errno)) return absl::UnavailableError(absl::StrCat("cannot read ", path, ": ", strerror(errno)));
    if (errno != ENOENT && errno != ENOTDIR) return CannotRead(path, strerror(errno));
    return absl::NotFoundError(absl::StrCat("there is no file ", path));
  };
  struct stat info = {};
  // Before it is opened: opening a pipe waits, and opening a device may do something.
  if (stat(path.c_str(), &info) != 0) return error();
  if (!S_ISREG(info.st_mode)) return CannotRead(path, "it is no regular file");
  UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0 || fstat(file.get(), &info) != 0) return error();
  if (!S_ISREG(info.st_mode)) return CannotRead(path, "it is no regular file");
  if (stamp != nullptr) *stamp = FileStamp::Of(info);
  return file;
}

}  // namespace lanista
