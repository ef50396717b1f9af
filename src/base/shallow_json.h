// JSON of strangers. nlohmann's parser takes any depth, and whoever writes what it read, to quote it in a message, does
// so by recursion: some 100,000 brackets overflow the stack.
#ifndef LANISTA_SRC_BASE_SHALLOW_JSON_H_
#define LANISTA_SRC_BASE_SHALLOW_JSON_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace lanista {

// Most lists and objects that lie within each other.
constexpr int kMaxJsonDepth = 1000;

inline absl::Status TooDeepJson() {
  return absl::InvalidArgumentError(absl::StrCat("the JSON is nested more than ", kMaxJsonDepth, " levels deep"));
}

// Reads JSON, as nlohmann::json or nlohmann::ordered_json. INVALID_ARGUMENT: it is none, a number is out of range
// (1e999), or it is nested too deeply.
template <typename JsonType>
absl::StatusOr<JsonType> ParseShallowJson(absl::string_view text) {
  struct TooDeep {};
  using Event = typename JsonType::parse_event_t;
  // `depth`: of those around it.
  const auto check_depth = [](int depth, Event event, JsonType&) {
    if (depth >= kMaxJsonDepth && (event == Event::array_start || event == Event::object_start)) throw TooDeep();
    return true;
  };
  try {
    return JsonType::parse(text.begin(), text.end(), check_depth);
  } catch (const TooDeep&) {
    return TooDeepJson();
  } catch (const typename JsonType::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not JSON: ", error.what()));
  }
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SHALLOW_JSON_H_
