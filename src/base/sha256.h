// Digests.
#ifndef LANISTA_SRC_BASE_SHA256_H_
#define LANISTA_SRC_BASE_SHA256_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lanista {

// The SHA-256 of `bytes`, 64 hex digits. For a file, hash the same bytes that are used: a second reading may give
// others.
std::string Sha256(absl::string_view bytes);

// The 32 bytes that these digits stand for, as messages carry them. REQUIRES: `hex` is a digest of Sha256 or
// Sha256Stream.
std::string Sha256Bytes(absl::string_view hex);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SHA256_H_
