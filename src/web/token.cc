#include "src/web/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"
#include "src/base/unique_id.h"

namespace lanista {
namespace {

constexpr size_t kTokenBytes = 24;
constexpr size_t kTokenLength = 2 * kTokenBytes;

// Empty: there is no file.
absl::StatusOr<std::string> ReadToken(const std::string& path) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (file.get() < 0 && errno == ENOENT) return std::string();
  struct stat status = {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) {
    return lanista::ErrnoToStatus(errno, absl::StrCat("cannot read the token ", path));
  }
  if (!S_ISREG(status.st_mode) || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || status.st_uid != geteuid()) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": others may read or change this token; delete the file, and a new one is made"));
  }
  // One byte more than a token has: a longer file is none.
  char text[kTokenLength + 1];
  const ssize_t got = pread(file.get(), text, sizeof(text), 0);
  if (got != kTokenLength || !std::all_of(text, text + kTokenLength, absl::ascii_isxdigit)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": holds no token; delete the file, and a new one is made"));
  }
  return std::string(text, kTokenLength);
}

}  // namespace

absl::StatusOr<std::string> StateToken(const std::string& state_dir, const std::string& file_name) {
  const std::string path = absl::StrCat(state_dir, "/", file_name);
  LANISTA_ASSIGN_OR_RETURN(const std::string kept, ReadToken(path));
  if (!kept.empty()) return kept;
  const std::string token = RandomHex(kTokenBytes);
  // Complete under another name first, and then linked: of two programs that do this at once, one wins, and both use
  // what is there.
  std::string draft = absl::StrCat(path, ".XXXXXX");
  const UniqueFd file(mkostemp(draft.data(), O_CLOEXEC));
  if (file.get() < 0) {
    if (errno == EROFS || errno == EACCES) return token;
    return lanista::ErrnoToStatus(errno, absl::StrCat("cannot keep a token in ", state_dir));
  }
  const bool written = write(file.get(), token.data(), token.size()) == static_cast<ssize_t>(token.size());
  const bool linked = written && (link(draft.c_str(), path.c_str()) == 0 || errno == EEXIST);
  const int why = errno;
  unlink(draft.c_str());
  if (!linked) return lanista::ErrnoToStatus(why, absl::StrCat("cannot write ", path));
  LANISTA_ASSIGN_OR_RETURN(const std::string now, ReadToken(path));
  if (!now.empty()) return now;
  return absl::UnavailableError(absl::StrCat(path, " vanished while it was read; try again"));
}

}  // namespace lanista
