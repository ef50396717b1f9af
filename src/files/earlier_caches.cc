#include "src/files/earlier_caches.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "src/base/file_lock.h"
#include "src/base/sha256_stream.h"
#include "src/base/unfinished_files.h"
#include "src/base/unique_fd.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

// So many nodes an earlier build let a machine have.
constexpr int kMaxNumber = 1000;
// Not in linux/magic.h.
constexpr unsigned long kZfsMagic = 0x2fc12fc1;

// Whether the path, and no link that it may be, is of this type and this user's.
bool IsOurs(const std::string& path, mode_t type) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_uid == geteuid();
}

// Whether `is_known` is true of the names of all entries; false where they cannot be read.
template <typename IsKnown>
bool AllEntries(const std::string& folder, const IsKnown& is_known) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_known(entry->path().filename().string())) return false;
  }
  return !error;
}

bool HasTheirLayout(const std::string& folder) {
  constexpr std::array<absl::string_view, 4> kParts = {"lock", "files", "trees", "assignments"};
  if (!IsOurs(folder, S_IFDIR) || !IsOurs(folder + "/lock", S_IFREG)) return false;
  for (const char* part : {"/files", "/trees", "/assignments"}) {
    if (!IsOurs(folder + part, S_IFDIR)) return false;
  }
  return AllEntries(folder,
                    [&](const std::string& name) { return std::count(kParts.begin(), kParts.end(), name) > 0; }) &&
         AllEntries(folder + "/files", [&](const std::string& name) {
           const bool is_copy = IsSha256(name) || absl::StartsWith(name, kUnfinishedPrefix);
           return is_copy && IsOurs(absl::StrCat(folder, "/files/", name), S_IFREG);
         });
}

// False: somebody uses it, or not all of it could be removed.
bool Remove(const std::string& folder) {
  const absl::StatusOr<UniqueFd> lock = LockFile(folder + "/lock");
  if (!lock.ok()) return false;
  std::error_code error;
  for (const char* part : {"/files", "/trees", "/assignments"}) {
    fs::remove_all(folder + part, error);
    if (error) return false;
  }
  // A node of an earlier build that begins just now makes its own ones: these stay.
  return unlink((folder + "/lock").c_str()) == 0 && rmdir(folder.c_str()) == 0;
}

}  // namespace

bool LocksReachAll(const std::string& folder) {
  struct statfs info = {};
  if (statfs(folder.c_str(), &info) != 0) return false;
  switch (static_cast<unsigned long>(info.f_type)) {
    case EXT4_SUPER_MAGIC:  // And ext2, ext3.
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case F2FS_SUPER_MAGIC:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC:
    case kZfsMagic:
      return true;
    default:
      return false;
  }
}

std::vector<std::string> RemoveEarlierCaches(const std::string& folder) {
  std::vector<std::string> removed;
  if (!LocksReachAll(folder)) return removed;
  for (int number = 1; number <= kMaxNumber; ++number) {
    std::string earlier = absl::StrCat(folder, "/", number);
    if (HasTheirLayout(earlier) && Remove(earlier)) removed.push_back(std::move(earlier));
  }
  return removed;
}

}  // namespace lanista
