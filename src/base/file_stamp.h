// Which file it is, and what changes with it: by that, a file is known again without being read again.
#ifndef LANISTA_SRC_BASE_FILE_STAMP_H_
#define LANISTA_SRC_BASE_FILE_STAMP_H_

#include <sys/stat.h>

#include <cstdint>

namespace lanista {

// The default is the stamp of a file that is not there.
struct FileStamp {
  dev_t device = 0;
  ino_t inode = 0;
  // Bytes.
  int64_t size = -1;
  // Nanoseconds.
  int64_t modified = 0;
  int64_t status_changed = 0;

  static FileStamp Of(const struct stat& file);
  bool operator==(const FileStamp& other) const;
  bool operator!=(const FileStamp& other) const { return !(*this == other); }
};

// Whether both are of one file, under whatever names.
bool IsSameFile(const struct stat& a, const struct stat& b);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_FILE_STAMP_H_
