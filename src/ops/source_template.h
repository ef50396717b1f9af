// Source code from templates: "{self}.size({dim})".
#ifndef LANISTA_SRC_OPS_SOURCE_TEMPLATE_H_
#define LANISTA_SRC_OPS_SOURCE_TEMPLATE_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace lanista::ops {

// The template with the arguments' source in place of their names; nothing stands for one that is left out. What is an
// operator's expression itself ("a + b") gets parentheses, unless the template has brackets around it.
std::string FillTemplate(absl::string_view source, const std::map<std::string, std::string>& arguments);

// Whether an operator stands in the expression outside of all brackets: "a + b", "not a", "-a"; but not "f(a + b)".
bool IsCompound(absl::string_view expression);

}  // namespace lanista::ops

#endif  // LANISTA_SRC_OPS_SOURCE_TEMPLATE_H_
