#include "src/base/secret_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "src/base/read_file.h"

namespace lanista {
namespace {

constexpr uint64_t kMaxSecretBytes = 1 << 20;

}  // namespace

absl::StatusOr<std::string> ReadSecretFile(const std::string& path) {
  struct stat file = {};
  if (stat(path.c_str(), &file) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", std::generic_category().message(errno)));
  }
  if (!S_ISREG(file.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is no regular file, which could be read again"));
  }
  if ((file.st_mode & S_IRWXO) != 0) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": holds a secret, and every user of this machine may open it: `chmod o= ", path, "`"));
  }
  return ReadWholeFile(path, kMaxSecretBytes);
}

}  // namespace lanista
