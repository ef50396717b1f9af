#include "src/ops/source_template.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
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
      // "--2" is another operator in C++.
      const bool signs = absl::EndsWith(text, "-") && absl::StartsWith(found->second, "-");
      const bool wrap = signs || (depth == 0 && source.size() > end - i + 1 && IsCompound(found->second));
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

std::string WithoutList(const std::string& expression) {
  if (!absl::StartsWith(expression, "list(") || IsCompound(expression)) return expression;
  // The bracket that closes the list must be the last one.
  int depth = 0;
  for (size_t i = 0; i + 1 < expression.size(); ++i) {
    depth += expression[i] == '(' ? 1 : expression[i] == ')' ? -1 : 0;
    if (i > 4 && depth == 0) return expression;
  }
  return expression.substr(5, expression.size() - 6);
}

}  // namespace lanista::ops
