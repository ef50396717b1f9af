#include "src/base/temporary_folder.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista {

absl::StatusOr<TemporaryFolder> TemporaryFolder::Make() {
  std::error_code error;
  const std::filesystem::path root = std::filesystem::temp_directory_path(error);
  if (error) return ErrnoToStatus(error.value(), "there is no folder for temporary files; set TMPDIR");
  std::string path = (root / "lanista-XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) {
    return ErrnoToStatus(errno, absl::StrCat("cannot make a temporary folder in ", root.string()));
  }
  return TemporaryFolder(std::move(path));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

}  // namespace lanista
