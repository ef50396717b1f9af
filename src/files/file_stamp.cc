#include "src/files/file_stamp.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <tuple>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec; }

absl::Status CannotRead(const std::string& path, const char* why) {
  return absl::FailedPreconditionError(absl::StrCat("cannot read ", path, ": ", why));
}

}  // namespace

FileStamp FileStamp::Of(const struct stat& file) {
  return {file.st_dev, file.st_ino, file.st_size, Nanoseconds(file.st_mtim), Nanoseconds(file.st_ctim)};
}

bool FileStamp::operator==(const FileStamp& other) const {
  return std::tie(device, inode, size, modified, status_changed) ==
         std::tie(other.device, other.inode, other.size, other.modified, other.status_changed);
}

absl::StatusOr<UniqueFd> OpenRegularFile(const std::string& path, FileStamp* stamp) {
  const auto error = [&path]() -> absl::Status {
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
