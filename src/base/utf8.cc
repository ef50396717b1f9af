#include "src/base/utf8.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/unknown_field_set.h"

namespace lanista {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// The length of the character of more than one byte at the start of `text`; 0 where there is none.
size_t CharacterLength(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(text[i])); };
  const size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc0 || byte(0) > 0xf7 || text.size() < length) return 0;
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

std::optional<NonUtf8Field> CheckText(const std::string& text, const std::string& path) {
  if (IsUtf8(text)) return std::nullopt;
  return NonUtf8Field{path, ToUtf8(text)};
}

std::optional<NonUtf8Field> FindBelow(const Message& message, const std::string& path);

// One entry of a map, at `path`.
std::optional<NonUtf8Field> FindInEntry(const Message& entry, const std::string& path) {
  const FieldDescriptor* const key = entry.GetDescriptor()->map_key();
  const FieldDescriptor* const value = entry.GetDescriptor()->map_value();
  const Reflection& reflection = *entry.GetReflection();
  std::string entry_path = path;
  if (key->type() == FieldDescriptor::TYPE_STRING) {
    const std::string name = reflection.GetString(entry, key);
    absl::StrAppend(&entry_path, ".", ToUtf8(name));
    if (auto found = CheckText(name, entry_path)) return found;
  }
  if (value->type() == FieldDescriptor::TYPE_STRING) return CheckText(reflection.GetString(entry, value), entry_path);
  if (value->type() == FieldDescriptor::TYPE_MESSAGE) return FindBelow(reflection.GetMessage(entry, value), entry_path);
  return std::nullopt;
}

std::optional<NonUtf8Field> FindBelow(const Message& message, const std::string& path) {
  const Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const bool text = field->type() == FieldDescriptor::TYPE_STRING;
    if (!text && field->type() != FieldDescriptor::TYPE_MESSAGE) continue;
    const std::string field_path = absl::StrCat(path, path.empty() ? "" : ".", field->name());
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const std::string place =
          field->is_repeated() && !field->is_map() ? absl::StrCat(field_path, "[", i, "]") : field_path;
      std::optional<NonUtf8Field> found;
      if (text) {
        found = CheckText(field->is_repeated() ? reflection.GetRepeatedString(message, field, i)
                                               : reflection.GetString(message, field),
                          place);
      } else {
        const Message& below = field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                                    : reflection.GetMessage(message, field);
        found = field->is_map() ? FindInEntry(below, place) : FindBelow(below, place);
      }
      if (found) return found;
    }
  }
  return std::nullopt;
}

// Makes the strings UTF-8 in a message of type `type` that was parsed without knowing its fields.
void MakeUnknownUtf8(UnknownFieldSet* fields, const google::protobuf::Descriptor& type) {
  for (int i = 0; i < fields->field_count(); ++i) {
    UnknownField* const unknown = fields->mutable_field(i);
    const FieldDescriptor* const field = type.FindFieldByNumber(unknown->number());
    if (field == nullptr || unknown->type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    std::string* const bytes = unknown->mutable_length_delimited();
    UnknownFieldSet below;
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      *bytes = ToUtf8(*bytes);
    } else if (field->type() == FieldDescriptor::TYPE_MESSAGE && below.ParseFromString(*bytes)) {
      MakeUnknownUtf8(&below, *field->message_type());
      below.SerializeToString(bytes);
    }
  }
}

}  // namespace

bool IsUtf8(absl::string_view text) { return ValidLength(text) == text.size(); }

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

std::optional<NonUtf8Field> FindNonUtf8(const Message& message) { return FindBelow(message, ""); }

bool ParseMakingUtf8(const std::string& bytes, Message* message) {
  // ParseFromString writes a line to stderr where a string is not UTF-8: most that it would refuse it never sees.
  if (IsUtf8(bytes) && message->ParseFromString(bytes)) return true;
  UnknownFieldSet fields;
  std::string valid;
  if (!fields.ParseFromString(bytes)) return false;
  MakeUnknownUtf8(&fields, *message->GetDescriptor());
  return fields.SerializeToString(&valid) && message->ParseFromString(valid);
}

bool MakeUtf8(Message* message) {
  std::vector<const FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  bool changed = false;
  for (const FieldDescriptor* field : fields) changed |= MakeFieldUtf8(message, field);
  return changed;
}

}  // namespace lanista
