// Literals of generated source code, in Python, TorchScript and C++.
#ifndef LANISTA_SRC_BASE_SOURCE_LITERALS_H_
#define LANISTA_SRC_BASE_SOURCE_LITERALS_H_

#include <string>

#include "absl/strings/string_view.h"

namespace lanista {

// The shortest of 6 to 17 digits that is exact, always with a point or exponent: "0.5", "1e-05", "2.0". What is not
// finite is `float("-inf")` in Python and TorchScript, and a member of std::numeric_limits in C++.
std::string PythonFloatLiteral(double value);
std::string CppFloatLiteral(double value);

// A literal that both Python and C++ can read: "\"a\\n\"". Bytes that are not ASCII become octal escapes, which are
// bytes in C++, but letters in Python.
std::string StringLiteral(absl::string_view text);

// A literal of Python for any text. Non-ASCII letters stay readable; bytes that are not UTF-8 are replaced by U+FFFD.
std::string PythonStringLiteral(const std::string& text);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SOURCE_LITERALS_H_
