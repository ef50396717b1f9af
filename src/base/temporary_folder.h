// Temporary folders.
#ifndef LANISTA_SRC_BASE_TEMPORARY_FOLDER_H_
#define LANISTA_SRC_BASE_TEMPORARY_FOLDER_H_

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace lanista {

// A folder that only this user may read. The destructor removes it with its content; a file that was opened before can
// still be read.
class TemporaryFolder {
 public:
  // Makes a folder in $TMPDIR (default: /tmp). Returns the system's error if that fails.
  static absl::StatusOr<TemporaryFolder> Make();

  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~TemporaryFolder();

  const std::string& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}

  // Empty: moved from.
  std::string path_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_TEMPORARY_FOLDER_H_
