// Opens files without waiting for pipes and without waking devices.
#ifndef LANISTA_SRC_FILES_REGULAR_FILE_H_
#define LANISTA_SRC_FILES_REGULAR_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "src/base/file_stamp.h"
#include "src/base/unique_fd.h"

namespace lanista {

// A regular file, opened for reading. NOT_FOUND: there is none at `path`. FAILED_PRECONDITION: it is something else, or
// may not be read. UNAVAILABLE: not now (descriptors or memory are lacking, say). Messages name it. `stamp` may be
// null.
absl::StatusOr<UniqueFd> OpenRegularFile(const std::string& path, FileStamp* stamp);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_REGULAR_FILE_H_
