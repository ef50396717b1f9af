// Text for protobuf: a string field that is not UTF-8 can be written, and then not be read.
#ifndef LANISTA_SRC_BASE_UTF8_H_
#define LANISTA_SRC_BASE_UTF8_H_

#include <string>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"

namespace lanista {

// `text` with U+FFFD in the place of each run of bytes that is not UTF-8.
std::string ToUtf8(absl::string_view text);

// Does so to every string of a message (bytes fields stay). Whether there was anything to do.
bool MakeUtf8(google::protobuf::Message* message);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_UTF8_H_
