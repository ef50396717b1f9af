#include "src/base/held_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

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
      UniqueFd lock;
      if (IsFolder(path)) {
        // Held until it is gone: whoever has just made it notices, and makes another one.
        absl::StatusOr<UniqueFd> held = HoldFolder(path.string());
        // Somebody else holds it, or nobody can tell.
        if (!held.ok()) continue;
        lock = *std::move(held);
      }
      std::error_code stays;
      fs::remove_all(path, stays);
    }
  }
  fs::remove(parent, ignored);
}

}  // namespace lanista
