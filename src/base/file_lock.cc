#include "src/base/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

struct flock WholeFile() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// "PID HOST\n".
std::string Signature() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(getpid(), " ", host, "\n");
}

// The pid at the start of the file; 0 if there is none.
pid_t ReadPid(int file) {
  char text[32] = "";
  if (pread(file, text, sizeof(text) - 1, 0) <= 0) return 0;
  return static_cast<pid_t>(std::strtol(text, nullptr, 10));
}

}  // namespace

absl::StatusOr<UniqueFd> LockFile(const std::string& path) {
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (file.get() < 0) return ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  // Of the open file, not of the process: two threads keep each other out, too.
  struct flock request = WholeFile();
  if (fcntl(file.get(), F_OFD_SETLK, &request) != 0) {
    if (errno != EAGAIN && errno != EACCES) return ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
    return absl::AlreadyExistsError(absl::StrCat(path, " is locked by process ", ReadPid(file.get())));
  }
  // It is for people only: where the disk is full, the lock holds all the same.
  const std::string signature = Signature();
  if (ftruncate(file.get(), 0) == 0) {
    [[maybe_unused]] const ssize_t written = pwrite(file.get(), signature.data(), signature.size(), 0);
  }
  return file;
}

std::optional<pid_t> LockHolder(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (file.get() < 0) return std::nullopt;
  struct flock question = WholeFile();
  if (fcntl(file.get(), F_OFD_GETLK, &question) != 0 || question.l_type == F_UNLCK) return std::nullopt;
  return ReadPid(file.get());
}

}  // namespace lanista
