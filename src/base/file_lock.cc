#include "src/base/file_lock.h"

#include <fcntl.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  struct flock request = {};
  request.l_type = F_WRLCK;
  request.l_whence = SEEK_SET;
  // Of the open file, not of the process: two threads keep each other out, too.
  if (fcntl(file.get(), F_OFD_SETLK, &request) == 0) return file;
  if (errno != EAGAIN && errno != EACCES) return ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
  return absl::AlreadyExistsError(absl::StrCat(path, " is locked by another program"));
}

}  // namespace lanista
