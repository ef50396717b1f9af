// Several files as one that a browser can save.
#ifndef LANISTA_SRC_WEB_PACKED_FILES_H_
#define LANISTA_SRC_WEB_PACKED_FILES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/base/unique_fd.h"

namespace lanista {

struct PackedFiles {
  // To be read from its beginning.
  UniqueFd file;
  // Without folders.
  std::string name;
};

// The file itself where there is one; else a tar archive (POSIX.1-1988, ustar) of them all, named `name`.tar, with the
// files below a folder `name`: they are removed as they are packed. The archive is made in `folder`, but has no name
// there. INVALID_ARGUMENT: there are none, or a name is too long for such an archive.
absl::StatusOr<PackedFiles> PackFiles(const std::vector<std::string>& paths, const std::string& name,
                                      const std::string& folder);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_PACKED_FILES_H_
