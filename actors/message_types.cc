#include "actors/message_types.h"

#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

constexpr caf::atom_value kCategory = caf::detail::error_factory<absl::StatusCode>::category;

}  // namespace

caf::error ToCafError(const absl::Status& status) {
  return caf::make_error(status.code(), std::string(status.message()));
}

bool IsStatus(const caf::error& error) { return error.category() == kCategory; }

absl::Status FromCafError(const caf::error& error) {
  if (!IsStatus(error)) {
    return absl::UnavailableError(absl::StrCat("an internal request got no answer: ", caf::to_string(error)));
  }
  std::string message;
  if (error.context().match_elements<std::string>()) message = error.context().get_as<std::string>(0);
  return absl::Status(static_cast<absl::StatusCode>(error.code()), message);
}

}  // namespace lanista
