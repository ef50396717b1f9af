#include "src/storage/experiment_lock.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/file_lock.h"
#include "src/base/status.h"

namespace lanista {
namespace {

std::string LockPath(const std::string& folder) { return folder + "/lock"; }

}  // namespace

absl::StatusOr<ExperimentLock> ExperimentLock::Acquire(const std::string& folder) {
  const std::string path = LockPath(folder);
  absl::StatusOr<UniqueFd> file = LockFile(path);
  if (absl::IsAlreadyExists(file.status())) {
    return absl::FailedPreconditionError(absl::StrCat("the experiment in ", folder, " is in use by process ",
                                                      LockHolder(path).value_or(0), "; stop that one first"));
  }
  if (!file.ok()) return Annotate(file.status(), "cannot lock the experiment");
  LANISTA_ASSIGN_OR_RETURN(NamedFile named, NamedFile::Of(file->get(), path));
  // Another process may have deleted the experiment in between.
  if (!named.Check().ok()) {
    return absl::NotFoundError(absl::StrCat("the experiment in ", folder, " was just deleted"));
  }
  return ExperimentLock(*std::move(file), std::move(named));
}

std::optional<pid_t> ExperimentLock::Holder(const std::string& folder) { return LockHolder(LockPath(folder)); }

absl::Status ExperimentLock::Check() const { return named_.Check(); }

}  // namespace lanista
