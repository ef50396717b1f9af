// Opens what trials have left in an experiment's folder: logs and outputs, of which nobody knows what they are.
#ifndef LANISTA_SRC_STORAGE_TRIAL_FILES_H_
#define LANISTA_SRC_STORAGE_TRIAL_FILES_H_

#include <sys/stat.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/unique_fd.h"

namespace lanista {

// The journals, and SQLite's files beside them, of all experiments in the state folder of one: a trial may have made
// hard links to them. Knows those that were there when it looked, and looks at most once at each experiment. Opens no
// file. Used by one thread.
class JournalFiles {
 public:
  explicit JournalFiles(std::string experiment_folder);

  // Whether the file is one of them. Only for files with several names it looks at the other experiments.
  bool Have(const struct stat& file);

 private:
  void AddOf(const std::string& folder);
  bool Know(const struct stat& file) const;

  const std::string experiment_folder_;
  std::vector<struct stat> files_;
  bool knows_all_ = false;
};

// OpenFileBeneath, for `path` relative to the folder of an experiment. NOT_FOUND also where the file is a journal's,
// which this never opens: closing it would drop the locks that SQLite holds on it in this process. Thread-safe.
absl::StatusOr<UniqueFd> OpenTrialFile(const std::string& experiment_folder, absl::string_view path);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_TRIAL_FILES_H_
