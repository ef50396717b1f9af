// Parses the text of a configuration file. Errors name the place and what is allowed there.
#ifndef LANISTA_SRC_CONFIG_PARSE_H_
#define LANISTA_SRC_CONFIG_PARSE_H_

#include <string>

#include "absl/status/status.h"
#include "google/protobuf/message.h"
#include "google/protobuf/text_format.h"

namespace lanista {

// Deeper nesting than any configuration needs is an error: lists in params could otherwise exhaust the stack.
inline constexpr int kMaxNesting = 100;

// Parses protobuf text into `message`, and stores the place of each field in `locations`. Errors: "line:column: what".
absl::Status ParseTextConfig(const std::string& text, google::protobuf::Message& message,
                             google::protobuf::TextFormat::ParseInfoTree& locations);

// Describes, without the place, why `text` is no protobuf text of `message`'s type; empty if it is.
std::string ProblemInText(const std::string& text, const google::protobuf::Message& message);

// Parses JSON into `message`: protobuf's mapping, original or camelCase names; durations "90s" or {"seconds": 90}.
// Errors: "path.to.field: what", or the line and column where it is not JSON at all.
absl::Status ParseJsonConfig(const std::string& text, google::protobuf::Message& message);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_PARSE_H_
