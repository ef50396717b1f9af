#include "src/base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The length of the character of more than one byte at the start of `text`; 0 where there is none.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc0 || text.size() < length) return 0;
  uint32_t code = byte(0) & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  return code < kSmallest[length - 2] || code > 0x10ffff || surrogate ? 0 : length;
}

// The length of the text before the first byte that is not UTF-8.
size_t ValidLength(absl::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    // Most text is ASCII.
    if (static_cast<unsigned char>(text[end]) < 0x80) {
      ++end;
    } else if (const size_t length = CharacterLength(text.substr(end)); length > 0) {
      end += length;
    } else {
      break;
    }
  }
  return end;
}

bool MakeFieldUtf8(Message* message, const FieldDescriptor* field) {
  const Reflection& reflection = *message->GetReflection();
  const int count = field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
  bool changed = false;
  for (int i = 0; i < count; ++i) {
    if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
      // An entry of a map, for one.
      changed |= MakeUtf8(field->is_repeated() ? reflection.MutableRepeatedMessage(message, field, i)
                                               : reflection.MutableMessage(message, field));
    } else if (field->type() == FieldDescriptor::TYPE_STRING) {
      const std::string text = field->is_repeated() ? reflection.GetRepeatedString(*message, field, i)
                                                    : reflection.GetString(*message, field);
      std::string valid = ToUtf8(text);
      if (valid == text) continue;
      changed = true;
      if (field->is_repeated()) {
        reflection.SetRepeatedString(message, field, i, std::move(valid));
      } else {
        reflection.SetString(message, field, std::move(valid));
      }
    }
  }
  return changed;
}

}  // namespace

std::string ToUtf8(absl::string_view text) {
  std::string valid;
  bool replacing = false;
  while (!text.empty()) {
    const size_t length = ValidLength(text);
    valid.append(text.data(), length);
    text.remove_prefix(length);
    if (text.empty()) break;
    if (length > 0 || !replacing) valid += "\xef\xbf\xbd";
    replacing = true;
    text.remove_prefix(1);
  }
  return valid;
}

bool MakeUtf8(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  bool changed = false;
  for (const FieldDescriptor* field : fields) changed |= MakeFieldUtf8(message, field);
  return changed;
}

}  // namespace lanista
