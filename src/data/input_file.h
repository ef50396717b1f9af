// Reads untrusted files, plain or gzip.
#ifndef LANISTA_SRC_DATA_INPUT_FILE_H_
#define LANISTA_SRC_DATA_INPUT_FILE_H_

#include <zlib.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanista::data {

// One file, read from front to back; gzip is recognised by its content. Used by one thread. All errors name the file:
// INVALID_ARGUMENT if its content is bad (with the position), else the system's error. A gzip file that unpacks to far
// more than real data does (a bomb) is INVALID_ARGUMENT too.
class InputFile {
 public:
  static absl::StatusOr<InputFile> Open(const std::string& path);

  // The next `count` bytes. Memory grows with the bytes that are really there, so a wrong `count` costs nothing.
  absl::StatusOr<std::string> Read(uint64_t count);

  // All remaining bytes. INVALID_ARGUMENT if there are more than `max_bytes`.
  absl::StatusOr<std::string> ReadAll(uint64_t max_bytes = std::numeric_limits<int64_t>::max());

  // Whether the file is gzip. Call it before the first Read.
  bool compressed() const { return gzdirect(file_.get()) == 0; }

  // Returns an error if there are more bytes, or if gzip's checksum does not match.
  absl::Status ExpectEnd();

  // INVALID_ARGUMENT "PATH: `problem`".
  absl::Status Corrupt(const std::string& problem) const;

 private:
  struct Close {
    void operator()(gzFile file) const { gzclose(file); }
  };
  using Handle = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

  InputFile(std::string path, Handle file, uint64_t size)
      : path_(std::move(path)), file_(std::move(file)), size_(size) {}

  // Up to `count` bytes; fewer only at the end of the file.
  absl::StatusOr<std::string> ReadUpTo(uint64_t count);

  std::string path_;
  Handle file_;
  // Size on disk, in bytes.
  uint64_t size_;
  // Position in the unpacked bytes.
  uint64_t position_ = 0;
};

}  // namespace lanista::data

#endif  // LANISTA_SRC_DATA_INPUT_FILE_H_
