// Files that say who uses what is beside them.
#ifndef LANISTA_SRC_BASE_FILE_LOCK_H_
#define LANISTA_SRC_BASE_FILE_LOCK_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"

namespace lanista {

// Makes the file where it is not there, locks it, and writes this process's pid and host into it for people; never
// waits. It is locked until the result is closed, and thus no longer than this process lives; programs that the process
// starts do not inherit it. The file stays: whoever removes it might remove the next one's. ALREADY_EXISTS: somebody
// else, another thread included, has it (see LockHolder). Else the system's error. Messages name the file. Thread-safe.
//
// This is an open-file-description lock (fcntl F_OFD_SETLK) rather than flock, because one can ask who holds it without
// taking it for a moment, which would make another process's LockFile fail.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

// The pid of the process that holds the lock now; 0 in the moment before that process has written it; nullopt: no
// process holds it, or there is no such file. Thread-safe.
std::optional<pid_t> LockHolder(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_FILE_LOCK_H_
