// Opens what trials have left in an experiment's folder: logs and outputs, of which nobody knows what they are.
#ifndef LANISTA_SRC_STORAGE_TRIAL_FILES_H_
#define LANISTA_SRC_STORAGE_TRIAL_FILES_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/unique_fd.h"

namespace lanista {

// Whether the file is a journal, or a file of SQLite's beside one, of any experiment in the state folder of this one: a
// trial may have made a hard link to it. Opens no file; only of files with several names it looks at other experiments.
// Thread-safe.
bool IsJournalFile(const struct stat& file, const std::string& experiment_folder);

// OpenFileBeneath, for `path` relative to the folder of an experiment. NOT_FOUND also where the file is a journal's,
// which this never opens: closing it would drop the locks that SQLite holds on it in this process. Thread-safe.
absl::StatusOr<UniqueFd> OpenTrialFile(const std::string& experiment_folder, absl::string_view path);

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_TRIAL_FILES_H_
