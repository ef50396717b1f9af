#include "src/storage/trial_files.h"

#include <filesystem>
#include <system_error>

#include "src/base/open_beneath.h"
#include "src/storage/schema.h"

namespace lanista {
namespace {

namespace fs = std::filesystem;

bool IsJournalOf(const struct stat& file, const std::string& folder) {
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    struct stat journal = {};
    if (stat((JournalFile(folder) + suffix).c_str(), &journal) != 0) continue;
    if (journal.st_dev == file.st_dev && journal.st_ino == file.st_ino) return true;
  }
  return false;
}

}  // namespace

bool IsJournalFile(const struct stat& file, const std::string& experiment_folder) {
  if (IsJournalOf(file, experiment_folder)) return true;
  // Another experiment's has a name there, too.
  if (file.st_nlink < 2) return false;
  std::error_code error;
  fs::directory_iterator entry(fs::path(experiment_folder).parent_path(), error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) {
    if (IsJournalOf(file, entry->path().string())) return true;
  }
  return false;
}

absl::StatusOr<UniqueFd> OpenTrialFile(const std::string& experiment_folder, absl::string_view path) {
  return OpenFileBeneath(experiment_folder, path, [&experiment_folder](const struct stat& file) {
    return IsJournalFile(file, experiment_folder);
  });
}

}  // namespace lanista
