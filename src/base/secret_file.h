// Files with secrets in them.
#ifndef LANISTA_SRC_BASE_SECRET_FILE_H_
#define LANISTA_SRC_BASE_SECRET_FILE_H_

#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// The content of a regular file, at most 1 MiB. INVALID_ARGUMENT: it is not there, or is something else.
// FAILED_PRECONDITION: everybody on this machine may read or write it; the message has the command that changes that.
absl::StatusOr<std::string> ReadSecretFile(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SECRET_FILE_H_
