#include "src/base/held_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "src/base/file_lock.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

bool IsFolder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(fs::symlink_status(path, ignored));
}

}  // namespace

absl::StatusOr<UniqueFd> HoldFolder(const std::string& folder) { return LockFile(folder + "/lock"); }

void RemoveUnlessHeld(const std::string& parent) {
  std::error_code ignored;
  if (IsFolder(parent)) {
    fs::directory_iterator entry(parent, ignored);
    while (!ignored && entry != fs::directory_iterator()) {
      const fs::path path = entry->path();
      entry.increment(ignored);
      absl::StatusOr<UniqueFd> held = absl::NotFoundError("not a folder");
      if (IsFolder(path)) held = HoldFolder(path.string());
      // Held until it is gone: whoever has just made it notices, and makes another one.
      std::error_code stays;
      if (!absl::IsAlreadyExists(held.status())) fs::remove_all(path, stays);
    }
  }
  fs::remove(parent, ignored);
}

}  // namespace lanista
