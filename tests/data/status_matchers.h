// What tests say about errors.
#ifndef LANISTA_TESTS_DATA_STATUS_MATCHERS_H_
#define LANISTA_TESTS_DATA_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace lanista::data {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// An error with this code whose message matches.
MATCHER_P2(IsError, code, message, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::Value(std::string(status.message()), ::testing::SafeMatcherCast<std::string>(message));
}

// INVALID_ARGUMENT whose message contains `text`.
inline auto IsInvalid(const std::string& text) {
  return IsError(absl::StatusCode::kInvalidArgument, ::testing::HasSubstr(text));
}

}  // namespace lanista::data

#endif  // LANISTA_TESTS_DATA_STATUS_MATCHERS_H_
