#include "src/service/request_checks.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lanista {

absl::Status CheckRange(int64_t value, int64_t min, int64_t max, const char* field) {
  if (value >= min && value <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": must be from ", min, " to ", max, ", got ", value));
}

absl::Status CheckSize(int64_t size, int64_t max, const char* field, const char* what) {
  if (size <= max) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": has more than ", max, " ", what));
}

absl::Status CheckWord(const std::string& word, const std::vector<std::string>& allowed, const char* field) {
  if (word.empty() || std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(field, ": '", word, "' is unknown; allowed: ", absl::StrJoin(allowed, ", ")));
}

}  // namespace lanista
