// Reads the directory of a zip file that is not trusted: all that it says is checked against the file.
#ifndef LANISTA_SRC_BASE_ZIP_DIRECTORY_H_
#define LANISTA_SRC_BASE_ZIP_DIRECTORY_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace lanista {

// One file in the archive.
struct ZipRecord {
  std::string name;
  bool compressed = false;
  uint64_t packed_size = 0;
  // Size of the unpacked content.
  uint64_t size = 0;
  // Where its header begins.
  uint64_t offset = 0;
  // CRC-32 of the unpacked content.
  uint32_t crc = 0;
};

// A zip file in memory. Used by one thread.
class ZipDirectory {
 public:
  // INVALID_ARGUMENT: `bytes` are no zip file; its directory is missing or wrong; records overlap, reach out of the
  // file or have names that lead out of the archive; or there are more than `max_records`. Messages begin with `path`,
  // the file's name. `bytes` must outlive the result.
  static absl::StatusOr<ZipDirectory> Open(const std::string& path, absl::string_view bytes, size_t max_records);

  const std::vector<ZipRecord>& records() const { return records_; }

  // A record's unpacked content, whose checksum was checked. INVALID_ARGUMENT: it is not what the directory says.
  absl::StatusOr<std::string> Read(const ZipRecord& record) const;

  // Returns the status that Read would return. A record that is stored uncompressed is not copied.
  absl::Status Check(const ZipRecord& record) const;

 private:
  ZipDirectory(std::string path, absl::string_view bytes) : path_(std::move(path)), bytes_(bytes) {}

  absl::Status ReadDirectory(size_t max_records);
  // Parses the entry at `at`, and moves behind it.
  absl::Status ReadEntry(absl::string_view directory, size_t* at);
  absl::Status CheckRecords();
  absl::Status Bad(const std::string& what) const;
  absl::Status Damaged(const ZipRecord& record) const;
  // Fewer bytes at the end of the file.
  absl::string_view Bytes(uint64_t offset, uint64_t count) const;
  // The records in the order in which they lie in the file.
  absl::StatusOr<absl::string_view> Packed(const ZipRecord& record) const;
  absl::StatusOr<std::string> Unpack(const ZipRecord& record) const;
  absl::Status CheckCrc(const ZipRecord& record, absl::string_view content) const;

  std::string path_;
  absl::string_view bytes_;
  uint64_t directory_start_ = 0;
  std::vector<ZipRecord> records_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_ZIP_DIRECTORY_H_
