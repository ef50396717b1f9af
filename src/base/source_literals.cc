#include "src/base/source_literals.h"

#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "src/base/json_line.h"

namespace lanista {
namespace {

// REQUIRES: `value` is finite.
std::string FiniteLiteral(double value) {
  std::string text;
  for (const int digits : {6, 9, 15, 16, 17}) {
    text = absl::StrFormat("%.*g", digits, value);
    // Not std::stod, which throws for numbers below 2.2e-308.
    if (double read = 0; absl::SimpleAtod(text, &read) && read == value) break;
  }
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string PythonFloatLiteral(double value) {
  return std::isfinite(value) ? FiniteLiteral(value) : absl::StrCat("float(\"", value, "\")");
}

std::string CppFloatLiteral(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) return absl::StrCat(value < 0 ? "-" : "", "std::numeric_limits<double>::infinity()");
  return FiniteLiteral(value);
}

std::string StringLiteral(absl::string_view text) {
  std::string literal = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      literal += '\\';
      literal += c;
    } else if (c == '\n') {
      literal += "\\n";
    } else if (byte < 32 || byte > 126) {
      literal += absl::StrFormat("\\%03o", byte);
    } else {
      literal += c;
    }
  }
  return literal + "\"";
}

std::string PythonStringLiteral(const std::string& text) {
  // A JSON string is also a valid Python string.
  return JsonLine(nlohmann::json(text));
}

}  // namespace lanista
