#include "src/base/status.h"

#include <cerrno>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "src/base/bounded_message.h"

namespace lanista {
absl::Status Annotate(const absl::Status& status, absl::string_view context) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(context, ": ", status.message()));
}

absl::Status ErrnoToStatus(int error_number, absl::string_view what) {
  const std::string message = absl::StrCat(what, ": ", std::generic_category().message(error_number));
  switch (error_number) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOMEM:
    case EMFILE:
      return absl::ResourceExhaustedError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case EINVAL:
    case ENOTDIR:
    case EISDIR:
    case ELOOP:
    case ENAMETOOLONG:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

v1::ErrorStatus StatusToProto(const absl::Status& status) {
  v1::ErrorStatus proto;
  proto.set_code(static_cast<int>(status.code()));
  proto.set_message(BoundedMessage(status.message()));
  return proto;
}

absl::Status StatusFromProto(const v1::ErrorStatus& proto) {
  return absl::Status(static_cast<absl::StatusCode>(proto.code()), proto.message());
}

}  // namespace lanista
