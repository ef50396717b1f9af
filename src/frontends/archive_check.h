// Looks at a TorchScript file before LibTorch does.
#ifndef LANISTA_SRC_FRONTENDS_ARCHIVE_CHECK_H_
#define LANISTA_SRC_FRONTENDS_ARCHIVE_CHECK_H_

#include <string>

#include "absl/status/status.h"

namespace lanista::frontends {

// OK if the file is a zip archive with the records of a TorchScript module, of sizes that can be true, and nothing in
// it would run while it is read. Else NOT_FOUND or INVALID_ARGUMENT, which says what it is and what to do.
absl::Status CheckArchive(const std::string& path);

}  // namespace lanista::frontends

#endif  // LANISTA_SRC_FRONTENDS_ARCHIVE_CHECK_H_
