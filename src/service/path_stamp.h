// By what a file or folder is known that a client and its head both see: on one machine, or on a shared file system.
#ifndef LANISTA_SRC_SERVICE_PATH_STAMP_H_
#define LANISTA_SRC_SERVICE_PATH_STAMP_H_

#include <string>

#include "absl/status/statusor.h"
#include "protos/service.pb.h"

namespace lanista {

// Of what is at `path`, behind links. NOT_FOUND: there is nothing. INVALID_ARGUMENT: it is neither a file nor a folder,
// or the path is not absolute or has a NUL byte. Else the system's error. Messages name it.
absl::StatusOr<v1::PathStamp> StampOf(const std::string& path);

}  // namespace lanista

#endif  // LANISTA_SRC_SERVICE_PATH_STAMP_H_
