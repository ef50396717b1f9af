#include "src/storage/experiment_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {
namespace {

std::string LockFile(const std::string& folder) { return folder + "/lock"; }

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

absl::StatusOr<ExperimentLock> ExperimentLock::Acquire(const std::string& folder) {
  const std::string path = LockFile(folder);
  UniqueFd owner(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  const int file = owner.get();
  if (file < 0) return ErrnoToStatus(errno, absl::StrCat("cannot lock the experiment: ", path));
  struct flock request = WholeFile();
  if (fcntl(file, F_OFD_SETLK, &request) != 0) {
    if (errno != EAGAIN && errno != EACCES) return ErrnoToStatus(errno, absl::StrCat("cannot lock ", path));
    return absl::FailedPreconditionError(
        absl::StrCat("the experiment in ", folder, " is in use by process ", ReadPid(file), "; stop that one first"));
  }
  LANISTA_ASSIGN_OR_RETURN(NamedFile named, NamedFile::Of(file, path));
  // Another process may have deleted the experiment in between.
  if (!named.Check().ok()) {
    return absl::NotFoundError(absl::StrCat("the experiment in ", folder, " was just deleted"));
  }
  const std::string signature = Signature();
  if (ftruncate(file, 0) != 0 ||
      pwrite(file, signature.data(), signature.size(), 0) != static_cast<ssize_t>(signature.size())) {
    return ErrnoToStatus(errno, absl::StrCat("cannot write ", path));
  }
  return ExperimentLock(std::move(owner), std::move(named));
}

std::optional<pid_t> ExperimentLock::Holder(const std::string& folder) {
  const int file = open(LockFile(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return std::nullopt;
  std::optional<pid_t> holder;
  struct flock question = WholeFile();
  if (fcntl(file, F_OFD_GETLK, &question) == 0 && question.l_type != F_UNLCK) holder = ReadPid(file);
  close(file);
  return holder;
}

absl::Status ExperimentLock::Check() const { return named_.Check(); }

}  // namespace lanista
