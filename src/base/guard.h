// Calls into code of users that may throw.
#ifndef LANISTA_SRC_BASE_GUARD_H_
#define LANISTA_SRC_BASE_GUARD_H_

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace lanista {

// Returns the result of `call`, a Status or a StatusOr; INTERNAL if it throws. `who` is for messages: "the strategy".
template <typename Function>
auto GuardCall(const std::string& who, Function&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(who, " threw: ", error.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(who, " threw something that is no std::exception"));
  }
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_GUARD_H_
