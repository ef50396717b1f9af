#include "src/base/file_stamp.h"

#include <tuple>

namespace lanista {
namespace {

int64_t Nanoseconds(const timespec& time) { return int64_t{time.tv_sec} * 1000000000 + time.tv_nsec; }

}  // namespace

FileStamp FileStamp::Of(const struct stat& file) {
  return {file.st_dev, file.st_ino, file.st_size, Nanoseconds(file.st_mtim), Nanoseconds(file.st_ctim)};
}

bool FileStamp::operator==(const FileStamp& other) const {
  return std::tie(device, inode, size, modified, status_changed) ==
         std::tie(other.device, other.inode, other.size, other.modified, other.status_changed);
}

bool IsSameFile(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

}  // namespace lanista
