// The directory of a zip file, read with suspicion: what it says is checked against the file.
#ifndef LANISTA_SRC_FRONTENDS_ZIP_DIRECTORY_H_
#define LANISTA_SRC_FRONTENDS_ZIP_DIRECTORY_H_

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace lanista::frontends {

// One file in the archive.
struct ZipRecord {
  std::string name;
  bool compressed = false;
  uint64_t packed_size = 0;
  // Uncompressed.
  uint64_t size = 0;
  // Of its header.
  uint64_t offset = 0;
};

// An open zip file. Used by one thread.
class ZipDirectory {
 public:
  // INVALID_ARGUMENT: it is no zip file; its directory is missing, or lies; records overlap, reach out of the file or
  // have names that lead elsewhere; more than `max_records`. NOT_FOUND: there is no such file. Messages begin with the
  // path.
  static absl::StatusOr<ZipDirectory> Open(const std::string& path, size_t max_records);

  const std::vector<ZipRecord>& records() const { return records_; }

  // A record's content, unpacked. INVALID_ARGUMENT: it is not what the directory says.
  absl::StatusOr<std::string> Read(const ZipRecord& record);

 private:
  ZipDirectory() = default;

  absl::Status ReadDirectory(size_t max_records);
  // Parses the entry at `at`, and moves behind it.
  absl::Status ReadEntry(const std::string& directory, size_t* at);
  absl::Status CheckRecords();
  absl::Status Bad(const std::string& what) const;
  // Fewer bytes at the end of the file.
  std::string ReadBytes(uint64_t offset, uint64_t count);

  std::string path_;
  std::ifstream file_;
  uint64_t size_ = 0;
  uint64_t directory_start_ = 0;
  std::vector<ZipRecord> records_;
};

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_ZIP_DIRECTORY_H_
