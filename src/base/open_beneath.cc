#include "src/base/open_beneath.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "src/base/status.h"

namespace lanista {
namespace {

// Part by part: every one is opened with O_NOFOLLOW, relative to the one before. (openat2 with RESOLVE_BENEATH would be
// one call, but the C library has no function for it, and filters of containers may refuse it.)
absl::StatusOr<UniqueFd> OpenBeneath(const std::string& folder, absl::string_view path, int flags,
                                     bool make_folders = false) {
  const std::vector<std::string> parts = absl::StrSplit(path, '/');
  for (const std::string& part : parts) {
    if (part.empty() || part == "." || part == ".." || part.find('\0') != std::string::npos) {
      return absl::InvalidArgumentError("this cannot be the name of a file below a folder");
    }
  }
  constexpr int kFolder = O_RDONLY | O_CLOEXEC | O_DIRECTORY;
  UniqueFd at(open(folder.c_str(), kFolder));
  for (size_t i = 0; at.get() >= 0 && i < parts.size(); ++i) {
    const bool last = i + 1 == parts.size();
    if (make_folders && mkdirat(at.get(), parts[i].c_str(), 0777) != 0 && errno != EEXIST) {
      return lanista::ErrnoToStatus(errno, absl::StrCat("cannot make the folder ", path));
    }
    UniqueFd next(openat(at.get(), parts[i].c_str(), (last ? flags : kFolder) | O_NOFOLLOW));
    at = std::move(next);
  }
  if (at.get() >= 0) return at;
  // ELOOP: it is a link; ENOTDIR: it is one to a folder, or a file where a folder was expected.
  if (errno == ELOOP || errno == ENOTDIR || errno == ENOENT) {
    return absl::NotFoundError(absl::StrCat("there is no file '", path, "'"));
  }
  return lanista::ErrnoToStatus(errno, path);
}

}  // namespace

bool IsPathBelow(absl::string_view path, size_t max_bytes) {
  constexpr size_t kMaxNameBytes = 255;
  if (path.size() > max_bytes || absl::StrContains(path, '\0')) return false;
  for (const absl::string_view name : absl::StrSplit(path, '/')) {
    if (name.empty() || name == "." || name == ".." || name.size() > kMaxNameBytes) return false;
  }
  return true;
}

absl::StatusOr<UniqueFd> OpenFileBeneath(const std::string& folder, absl::string_view path) {
  LANISTA_ASSIGN_OR_RETURN(UniqueFd file, OpenBeneath(folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (fstat(file.get(), &status) != 0) return lanista::ErrnoToStatus(errno, path);
  if (!S_ISREG(status.st_mode)) return absl::NotFoundError(absl::StrCat("'", path, "' is no file"));
  return file;
}

absl::StatusOr<UniqueFd> OpenFileBeneath(const std::string& folder, absl::string_view path,
                                         const std::function<bool(const struct stat& file)>& refused) {
  // A place in the file system, which holds no lock and drops none.
  LANISTA_ASSIGN_OR_RETURN(const UniqueFd place, OpenBeneath(folder, path, O_PATH | O_CLOEXEC));
  struct stat status = {};
  if (fstat(place.get(), &status) != 0) return lanista::ErrnoToStatus(errno, path);
  // A link is opened as such.
  if (!S_ISREG(status.st_mode) || refused(status)) return absl::NotFoundError(absl::StrCat("'", path, "' is no file"));
  // By its name it could be another one by now.
  UniqueFd file(open(absl::StrCat("/proc/self/fd/", place.get()).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return lanista::ErrnoToStatus(errno, path);
  return file;
}

absl::StatusOr<UniqueFd> OpenFolderBeneath(const std::string& folder, absl::string_view path) {
  return OpenBeneath(folder, path, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
}

absl::StatusOr<UniqueFd> MakeFolderBeneath(const std::string& folder, absl::string_view path) {
  return OpenBeneath(folder, path, O_RDONLY | O_CLOEXEC | O_DIRECTORY, /*make_folders=*/true);
}

}  // namespace lanista
