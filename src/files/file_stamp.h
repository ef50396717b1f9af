// What changes with a file: by it, a file that was read is known again without being read again.
#ifndef LANISTA_SRC_FILES_FILE_STAMP_H_
#define LANISTA_SRC_FILES_FILE_STAMP_H_

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"

namespace lanista {

struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size = -1;
  // Nanoseconds.
  int64_t modified = 0;
  int64_t status_changed = 0;

  static FileStamp Of(const struct stat& file);
  bool operator==(const FileStamp& other) const;
  bool operator!=(const FileStamp& other) const { return !(*this == other); }
};

// A regular file, opened for reading. NOT_FOUND: there is none at `path`. FAILED_PRECONDITION: it is something else, or
// cannot be read. Messages name it. `stamp` may be null.
absl::StatusOr<UniqueFd> OpenRegularFile(const std::string& path, FileStamp* stamp);

}  // namespace lanista

#endif  // LANISTA_SRC_FILES_FILE_STAMP_H_
