// Digests of files.
#ifndef LANISTA_SRC_BASE_SHA256_H_
#define LANISTA_SRC_BASE_SHA256_H_

#include <string>

#include "absl/status/statusor.h"

namespace lanista {

// The SHA-256 of a file's content, 64 hex digits. NOT_FOUND, or another error that names the file.
absl::StatusOr<std::string> Sha256OfFile(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SHA256_H_
