// Checks a TorchScript file before LibTorch reads it.
#ifndef LANISTA_SRC_RUNTIME_ARCHIVE_CHECK_H_
#define LANISTA_SRC_RUNTIME_ARCHIVE_CHECK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace lanista::runtime {

// OK if `bytes` are a complete zip archive with the records of a TorchScript module, of plausible sizes, and nothing in
// it would run while it is read. Else INVALID_ARGUMENT, which says what the file is and what to do. `path` is used in
// messages only.
absl::Status CheckArchive(const std::string& path, absl::string_view bytes);

}  // namespace lanista::runtime

#endif  // LANISTA_SRC_RUNTIME_ARCHIVE_CHECK_H_
