#include <algorithm>
#include <functional>
#include <memory>
#include <regex>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "src/base/field_rules.h"
#include "src/config/fields.h"
#include "src/config/parse.h"

namespace lanista {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::TextFormat;

// Columns of a tab, as protobuf's tokenizer counts them.
constexpr int kTabWidth = 8;

// The byte at which protobuf's `line` and `column` (both from 0) point.
size_t OffsetOf(const std::string& text, int line, int column) {
  size_t offset = 0;
  for (; line > 0 && offset < text.size(); ++offset) {
    if (text[offset] == '\n') --line;
  }
  for (int at = 0; at < column && offset < text.size() && text[offset] != '\n'; ++offset) {
    at += text[offset] == '\t' ? kTabWidth - at % kTabWidth : 1;
  }
  return offset;
}

// "line:column", both from 1, of a byte.
std::string Position(const std::string& text, size_t offset) {
  const auto begin = text.begin();
  const auto line = std::count(begin, begin + static_cast<std::ptrdiff_t>(offset), '\n') + 1;
  const size_t newline = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  return absl::StrCat(line, ":", newline == std::string::npos ? offset + 1 : offset - newline);
}

// The field whose value begins at `offset`: the name before it, over the colon and the list's earlier elements.
std::string FieldBefore(const std::string& text, size_t offset) {
  static const auto* const kField = new std::regex(R"(([A-Za-z_]\w*)\s*:?\s*(\[[^\[\]]*)?$)");
  const size_t begin = offset < 200 ? 0 : offset - 200;  // std::regex recurses over long texts.
  const std::string before = text.substr(begin, offset - begin);
  std::smatch match;
  return std::regex_search(before, match, *kField) ? match[1].str() : "this field";
}

// The enum field `name` of a message below `root`; of several, the one in the block that was opened last in `before`.
const FieldDescriptor* EnumFieldAt(const Descriptor& root, const std::string& name, const std::string& before) {
  const FieldDescriptor* found = nullptr;
  size_t found_at = 0;
  std::set<const Descriptor*> seen;
  const std::function<void(const Descriptor&, size_t)> visit = [&](const Descriptor& message, size_t block_at) {
    if (!seen.insert(&message).second) return;
    for (int i = 0; i < message.field_count(); ++i) {
      const FieldDescriptor* const field = message.field(i);
      if (field->enum_type() != nullptr && field->name() == name && (found == nullptr || block_at > found_at)) {
        found = field;
        found_at = block_at;
      }
      if (field->message_type() == nullptr) continue;
      const size_t at = before.rfind(std::string(field->name()));
      visit(*field->message_type(), at == std::string::npos ? 0 : at);
    }
  };
  visit(root, 0);
  return found;
}

// Takes the first error and says it in our words: protobuf names types where users want fields, and points behind what
// is wrong. Wordings that are not known here pass as they are.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  FirstError(const Descriptor& root, const std::string& text) : root_(root), text_(text) {}

  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    if (!error_.empty()) return;
    offset_ = OffsetOf(text_, line, column);
    error_ = Translate(message);
  }

  const std::string& error() const { return error_; }
  // Where it is: "line:column".
  std::string position() const { return Position(text_, offset_); }

 private:
  std::string Translate(const std::string& message) {
    static const auto* const kUnknownField = new std::regex(R"re(Message type "(.*)" has no field named "(.*)"\.)re");
    static const auto* const kUnknownEnum =
        new std::regex(R"re(Unknown enumeration value of "(.*)" for field "(.*)"\.)re");
    static const auto* const kExpected =
        new std::regex(R"re(Expected (integer|string|double|"\{"), (?:got: (.*)|found "(.*)"\.))re");
    static const auto* const kBool = new std::regex(R"re(Invalid value for boolean field "(.*)"\. Value: "(.*)"\.)re");
    static const auto* const kOneof =
        new std::regex(R"re(Field "(.*)" is specified along with field "(.*)", another member of oneof.*)re");
    static const auto* const kTwice = new std::regex(R"re(Non-repeated field "(.*)" is specified multiple times\.)re");
    static const auto* const kRange = new std::regex(R"re(Integer out of range \((.*)\))re");
    std::smatch match;
    if (std::regex_match(message, match, *kUnknownField)) {
      const Descriptor* const type = DescriptorPool::generated_pool()->FindMessageTypeByName(match[1].str());
      PointBackAt(match[2].str());
      if (type != nullptr) return UnknownFieldMessage(*type, match[2].str());
    } else if (std::regex_match(message, match, *kUnknownEnum)) {
      PointBackAt(match[1].str());
      if (const FieldDescriptor* const field = EnumFieldAt(root_, match[2].str(), text_.substr(0, offset_))) {
        return UnknownEnumValueMessage(*field, match[1].str());
      }
    } else if (std::regex_match(message, match, *kBool)) {
      PointBackAt(match[2].str());
      return absl::StrCat("'", match[1].str(), "' wants true or false, got ", match[2].str());
    } else if (std::regex_match(message, match, *kExpected)) {
      const std::string wanted = match[1].str();
      return absl::StrCat("'", FieldBefore(text_, offset_), "' wants ",
                          wanted == "integer"  ? "an integer"
                          : wanted == "string" ? "a string"
                          : wanted == "double" ? "a number"
                                               : "a block { ... }",
                          ", got ", match[2].str(), match[3].str());
    } else if (std::regex_match(message, match, *kOneof)) {
      PointBackAt(match[1].str());
      return absl::StrCat("'", match[1].str(), "' and '", match[2].str(), "' exclude each other; keep one");
    } else if (std::regex_match(message, match, *kTwice)) {
      PointBackAt(match[1].str());
      return absl::StrCat("'", match[1].str(), "' is set twice; keep one");
    } else if (std::regex_match(message, match, *kRange)) {
      return absl::StrCat("'", FieldBefore(text_, offset_), "' is out of range: ", match[1].str());
    } else if (message == "Expected identifier, got: ") {
      return "the text ends inside a block: a '}' is missing";
    }
    return message;
  }

  // Protobuf reports some errors at the token behind the culprit.
  void PointBackAt(const std::string& token) {
    const size_t at = text_.rfind(token, offset_);
    if (at != std::string::npos) offset_ = at;
  }

  const Descriptor& root_;
  const std::string& text_;
  size_t offset_ = 0;
  std::string error_;
};

}  // namespace

absl::Status ParseTextConfig(const std::string& text, google::protobuf::Message& message,
                             TextFormat::ParseInfoTree& locations) {
  FirstError error(*message.GetDescriptor(), text);
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.WriteLocationsTo(&locations);
  parser.SetRecursionLimit(kMaxNesting);
  if (parser.ParseFromString(text, &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(error.position(), ": ", error.error()));
}

std::string ProblemInText(const std::string& text, const google::protobuf::Message& message) {
  FirstError error(*message.GetDescriptor(), text);
  const std::unique_ptr<google::protobuf::Message> parsed(message.New());
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(kMaxNesting);
  return parser.ParseFromString(text, parsed.get()) ? "" : error.error();
}

}  // namespace lanista
