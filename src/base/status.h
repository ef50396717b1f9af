// Helpers around absl::Status.
//
// All errors of Lanista are absl::Status with a message that tells the user what to do. Thread-safe: there is no state.
#ifndef LANISTA_SRC_BASE_STATUS_H_
#define LANISTA_SRC_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/status.pb.h"

namespace lanista {

// Returns `status` with "`context`: " before its message; OK stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view context);

// An errno value as a status: "`what`: No such file or directory".
absl::Status ErrnoToStatus(int error_number, absl::string_view what);

// To and from the wire.
v1::ErrorStatus StatusToProto(const absl::Status& status);
absl::Status StatusFromProto(const v1::ErrorStatus& proto);

}  // namespace lanista

#define LANISTA_CONCAT_INNER_(a, b) a##b
#define LANISTA_CONCAT_(a, b) LANISTA_CONCAT_INNER_(a, b)

// Returns from the function if `expression`, an absl::Status, is an error.
#define LANISTA_RETURN_IF_ERROR(expression)                                                         \
  do {                                                                                              \
    if (absl::Status lanista_status_ = (expression); !lanista_status_.ok()) return lanista_status_; \
  } while (false)

// `lhs = *expression`, or returns its error: LANISTA_ASSIGN_OR_RETURN(auto space, Space::FromProto(proto));
#define LANISTA_ASSIGN_OR_RETURN(lhs, expression) \
  LANISTA_ASSIGN_OR_RETURN_(LANISTA_CONCAT_(lanista_statusor_, __LINE__), lhs, expression)
#define LANISTA_ASSIGN_OR_RETURN_(statusor, lhs, expression) \
  auto statusor = (expression);                              \
  if (!statusor.ok()) return statusor.status();              \
  lhs = *std::move(statusor)

#endif  // LANISTA_SRC_BASE_STATUS_H_
