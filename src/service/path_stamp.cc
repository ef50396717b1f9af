#include "src/service/path_stamp.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {

absl::StatusOr<v1::PathStamp> StampOf(const std::string& path) {
  if (path.empty() || path[0] != '/' || path.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the path is not absolute");
  }
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return ErrnoToStatus(errno, path);
  if (!S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is neither a file nor a folder"));
  }
  v1::PathStamp stamp;
  stamp.set_path(path);
  stamp.set_inode(info.st_ino);
  stamp.set_size(info.st_size);
  stamp.set_modified(int64_t{info.st_mtim.tv_sec} * 1000000000 + info.st_mtim.tv_nsec);
  return stamp;
}

}  // namespace lanista
