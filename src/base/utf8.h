// Text for protobuf: a string field that is not UTF-8 can be written, and then not be read.
#ifndef LANISTA_SRC_BASE_UTF8_H_
#define LANISTA_SRC_BASE_UTF8_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace lanista {

bool IsUtf8(absl::string_view text);

// `text` with U+FFFD in the place of each run of bytes that is not UTF-8.
std::string ToUtf8(absl::string_view text);

// Does so to every string of a message (bytes fields stay). Whether there was anything to do.
bool MakeUtf8(google::protobuf::Message* message);

// A string of a message that is not UTF-8.
struct NonUtf8Field {
  // evaluator.classification.dataset.csv.path; of a map's entry: space.params.KEY.
  std::string path;
  // With U+FFFD where it is not UTF-8.
  std::string text;
};

// The first one; nullopt if all strings are UTF-8.
std::optional<NonUtf8Field> FindNonUtf8(const google::protobuf::Message& message);

// message->ParseFromString(bytes), also where strings in `bytes` are not UTF-8: they are made so.
bool ParseMakingUtf8(const std::string& bytes, google::protobuf::Message* message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UTF8_H_
