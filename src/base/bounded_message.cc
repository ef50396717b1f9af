#include "src/base/bounded_message.h"

#include <cstddef>

#include "absl/strings/str_cat.h"

namespace lanista {
namespace {

constexpr size_t kMaxMessageBytes = 8192;

}  // namespace

std::string BoundedMessage(absl::string_view message) {
  if (message.size() <= kMaxMessageBytes) return std::string(message);
  size_t end = kMaxMessageBytes;
  // Not within a character of UTF-8.
  while (end > 0 && (static_cast<unsigned char>(message[end]) & 0xc0) == 0x80) --end;
  return absl::StrCat(message.substr(0, end), "... (", message.size() - end, " more bytes)");
}

}  // namespace lanista
