#include "src/storage/trial_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/base/file_stamp.h"
#include "src/base/open_beneath.h"
#include "src/storage/schema.h"

namespace lanista {

namespace fs = std::filesystem;

JournalFiles::JournalFiles(std::string experiment_folder) : experiment_folder_(std::move(experiment_folder)) {
  AddOf(experiment_folder_);
}

void JournalFiles::AddOf(const std::string& folder) {
  for (const char* const suffix : {"", "-wal", "-shm"}) {
    struct stat file = {};
    if (stat((JournalFile(folder) + suffix).c_str(), &file) == 0) files_.push_back(file);
  }
}

bool JournalFiles::Know(const struct stat& file) const {
  return std::any_of(files_.begin(), files_.end(),
                     [&file](const struct stat& journal) { return IsSameFile(journal, file); });
}

bool JournalFiles::Have(const struct stat& file) {
  if (Know(file)) return true;
  // Another experiment's has a name there, too.
  if (file.st_nlink < 2 || std::exchange(knows_all_, true)) return false;
  std::error_code error;
  fs::directory_iterator entry(fs::path(experiment_folder_).parent_path(), error);
  for (const fs::directory_iterator end; !error && entry != end; entry.increment(error)) AddOf(entry->path().string());
  return Know(file);
}

absl::StatusOr<UniqueFd> OpenTrialFile(const std::string& experiment_folder, absl::string_view path) {
  return OpenFileBeneath(experiment_folder, path, [&experiment_folder](const struct stat& file) {
    return JournalFiles(experiment_folder).Have(file);
  });
}

}  // namespace lanista
