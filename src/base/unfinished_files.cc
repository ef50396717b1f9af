#include "src/base/unfinished_files.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"

namespace lanista {

void RemoveUnfinishedFiles(const std::string& folder) {
  namespace fs = std::filesystem;
  std::vector<fs::path> unfinished;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;
    if (!entry->is_symlink(ignored) && entry->is_regular_file(ignored) &&
        absl::StartsWith(entry->path().filename().string(), kUnfinishedPrefix)) {
      unfinished.push_back(entry->path());
    }
  }
  for (const fs::path& path : unfinished) fs::remove(path, error);
}

}  // namespace lanista
