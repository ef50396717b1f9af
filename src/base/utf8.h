// Text for protobuf. Its string fields must be UTF-8: other bytes can be written, but not read again.
#ifndef LANISTA_SRC_BASE_UTF8_H_
#define LANISTA_SRC_BASE_UTF8_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace lanista {

bool IsUtf8(absl::string_view text);

// Returns `text` with each run of bytes that is not UTF-8 replaced by U+FFFD.
std::string ToUtf8(absl::string_view text);

// Does that to every string of a message (bytes fields stay). Returns whether anything was replaced.
bool MakeUtf8(google::protobuf::Message* message);

// A string of a message that is not UTF-8.
struct NonUtf8Field {
  // evaluator.classification.dataset.csv.path; of a map's entry: space.params.KEY.
  std::string path;
  // The string, with U+FFFD for bytes that are not UTF-8.
  std::string text;
};

// The first one; nullopt if all strings are UTF-8.
std::optional<NonUtf8Field> FindNonUtf8(const google::protobuf::Message& message);

// As message->ParseFromString(bytes), but strings in `bytes` that are not UTF-8 are repaired instead of refused.
bool ParseMakingUtf8(const std::string& bytes, google::protobuf::Message* message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UTF8_H_
