#include "src/ops/source_template.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace lanista::ops {

std::string FillTemplate(absl::string_view source, const std::map<std::string, std::string>& arguments) {
  std::string text;
  int depth = 0;
  for (size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    const size_t end = c == '{' ? source.find('}', i) : absl::string_view::npos;
    if (end == absl::string_view::npos) {
      text += c;
      continue;
    }
    const auto found = arguments.find(std::string(source.substr(i + 1, end - i - 1)));
    if (found != arguments.end()) {
      const bool wrap = depth == 0 && source.size() > end - i + 1 && IsCompound(found->second);
      absl::StrAppend(&text, wrap ? "(" : "", found->second, wrap ? ")" : "");
    }
    i = end;
  }
  return text;
}

bool IsCompound(absl::string_view expression) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < expression.size(); ++i) {
    const char c = expression[i];
    if (c == '\\') {
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      if (c == '(' || c == '[' || c == '{') ++depth;
      if (c == ')' || c == ']' || c == '}') --depth;
      if (depth == 0 && c == ' ') return true;
    }
  }
  // A minus sign before anything but a number.
  return expression.size() > 1 && expression[0] == '-' &&
         !absl::ascii_isdigit(static_cast<unsigned char>(expression[1]));
}

}  // namespace lanista::ops
