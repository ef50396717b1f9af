// Files that say who uses what is beside them.
#ifndef LANISTA_SRC_BASE_FILE_LOCK_H_
#define LANISTA_SRC_BASE_FILE_LOCK_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"

namespace lanista {

// Makes the file where it is not there, and locks it; never waits. It is locked until the result is closed, and thus no
// longer than this process lives. The file stays: whoever removes it might remove the next one's. ALREADY_EXISTS:
// somebody else, another thread included, has it. Else the system's error. Messages name the file. Thread-safe.
absl::StatusOr<UniqueFd> LockFile(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_FILE_LOCK_H_
