// The lock of an experiment: at most one process runs, resumes or deletes it.
#ifndef LANISTA_SRC_STORAGE_EXPERIMENT_LOCK_H_
#define LANISTA_SRC_STORAGE_EXPERIMENT_LOCK_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"
#include "src/storage/named_file.h"

namespace lanista {

// Locks the file `lock` in an experiment's folder (see LockFile). The kernel releases the lock when the process ends,
// however it ends.
class ExperimentLock {
 public:
  // FAILED_PRECONDITION names the pid that holds it; NOT_FOUND if there is no such folder. Never waits.
  static absl::StatusOr<ExperimentLock> Acquire(const std::string& folder);

  // The pid of the process that holds the experiment now; 0 in the moment before that process has written it; nullopt:
  // no process holds it.
  static std::optional<pid_t> Holder(const std::string& folder);

  // OK while the lock keeps others away. DATA_LOSS if its file was deleted, moved or replaced: another process may hold
  // the experiment now.
  absl::Status Check() const;

 private:
  ExperimentLock(UniqueFd file, NamedFile named) : file_(std::move(file)), named_(std::move(named)) {}

  UniqueFd file_;
  NamedFile named_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_EXPERIMENT_LOCK_H_
