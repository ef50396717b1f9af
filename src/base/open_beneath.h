// Opens files whose names come from outside, or which lie in folders that other programs write. Nothing outside of the
// folder can be reached.
#ifndef LANISTA_SRC_BASE_OPEN_BENEATH_H_
#define LANISTA_SRC_BASE_OPEN_BENEATH_H_

#include <sys/stat.h>

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "src/base/unique_fd.h"

namespace lanista {

// Whether a path from outside can be that of something below a folder: at most `max_bytes`, no NUL byte, and only names
// of 1 to 255 bytes, none of which is "." or "..". So it is relative, too.
bool IsPathBelow(absl::string_view path, size_t max_bytes);

// Opens a regular file, `path` relative to `folder`, for reading; no part of it may be a link, "." or "..". `folder`
// itself is opened as it is. Thread-safe.
//
// NOT_FOUND: there is no such file, it is no regular file, or a part of the path is a link. INVALID_ARGUMENT: the path
// is empty or absolute, or holds ".", ".." or a NUL byte. Otherwise the system's error.
absl::StatusOr<UniqueFd> OpenFileBeneath(const std::string& folder, absl::string_view path);
// The same, but a file of whose status `refused` says so is NOT_FOUND. It is never opened for reading then: to close a
// file that was drops the locks that this process holds on it. Needs /proc.
absl::StatusOr<UniqueFd> OpenFileBeneath(const std::string& folder, absl::string_view path,
                                         const std::function<bool(const struct stat& file)>& refused);
// The same for a folder.
absl::StatusOr<UniqueFd> OpenFolderBeneath(const std::string& folder, absl::string_view path);
// The same, and makes what is missing of it below `folder`.
absl::StatusOr<UniqueFd> MakeFolderBeneath(const std::string& folder, absl::string_view path);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_OPEN_BENEATH_H_
