// Pieces of source code, and templates: "{self}.size({dim})".
#ifndef LANISTA_SRC_OPS_SOURCE_TEMPLATE_H_
#define LANISTA_SRC_OPS_SOURCE_TEMPLATE_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace lanista::ops {

// Replaces each {name} in the template by the source of that argument, or by nothing if there is no such argument. An
// argument that is compound ("a + b") gets parentheses, unless it stands within brackets of the template.
std::string FillTemplate(absl::string_view source, const std::map<std::string, std::string>& arguments);

// Whether the expression has an operator outside of all brackets: "a + b", "not a", "-a"; but not "f(a + b)".
bool IsCompound(absl::string_view expression);

// "x.shape" for "list(x.shape)" in Python, for places where any sequence is allowed; any other expression as it is.
std::string WithoutList(const std::string& expression);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_SOURCE_TEMPLATE_H_
