// JSON as text that any program can read.
#ifndef LANISTA_SRC_BASE_JSON_LINE_H_
#define LANISTA_SRC_BASE_JSON_LINE_H_

#include <string>

#include "nlohmann/json.hpp"

namespace lanista {

// On one line, for nlohmann::json and nlohmann::ordered_json. Bytes that are not UTF-8 are replaced: nlohmann's own
// default throws, and names of files may have such bytes.
template <typename JsonType>
std::string JsonLine(const JsonType& json) {
  return json.dump(/*indent=*/-1, ' ', /*ensure_ascii=*/false, JsonType::error_handler_t::replace);
}

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_JSON_LINE_H_
