// Reading files that a user or a graph names, without trusting them.
#ifndef LANISTA_SRC_BASE_READ_FILE_H_
#define LANISTA_SRC_BASE_READ_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanista {

// The largest file of weights that is read, in bytes: no machine has the memory for a larger one.
inline constexpr uint64_t kMostWeightsBytes = uint64_t{1} << 40;

// The content of a regular file, or all that comes through a pipe. Waits for a pipe's writer, as `cat` does.
// Thread-safe.
//
// NOT_FOUND: there is no such file. INVALID_ARGUMENT: it is a folder or a device, or it holds more than `max_bytes`
// (nothing beyond them is read). Messages name the file.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path, uint64_t max_bytes);

// The next bytes of an open regular file, from `offset`, at most `most`, into `piece`; none: it has no more. `path`
// names it in the system's error. Thread-safe.
absl::Status ReadPiece(int file, const std::string& path, int64_t offset, size_t most, std::string* piece);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_READ_FILE_H_
