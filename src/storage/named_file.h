// Notices that another process has deleted or replaced an open file.
#ifndef LANISTA_SRC_STORAGE_NAMED_FILE_H_
#define LANISTA_SRC_STORAGE_NAMED_FILE_H_

#include <sys/stat.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanista {

// A file and the name that it had when it was opened. What is written to a file that lost its name is gone with the
// process that writes it. Any thread may use it.
class NamedFile {
 public:
  // Remembers which file `path` names now. An error if it names none.
  static absl::StatusOr<NamedFile> At(std::string path);
  // The file that is open as `descriptor`, which was opened by `path`.
  static absl::StatusOr<NamedFile> Of(int descriptor, std::string path);

  // OK while `path` names that file, as far as can be told. DATA_LOSS, the only error, says what became of it. Opens
  // nothing.
  absl::Status Check() const;

 private:
  NamedFile(std::string path, const struct stat& found);

  std::string path_;
  struct stat file_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STORAGE_NAMED_FILE_H_
