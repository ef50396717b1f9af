// Names as people type them.
#ifndef LANISTA_SRC_BASE_SPELLING_H_
#define LANISTA_SRC_BASE_SPELLING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lanista {

// The number of edits (insert, delete or replace one character, swap two neighbours) that turn `a` into `b`.
int EditDistance(absl::string_view a, absl::string_view b);

// Returns "; did you mean 'near'?" if one of `known` is close enough to `name`, ignoring case; else "".
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known);

// Returns "; did you mean 'near'? allowed here: a, b, c".
std::string AllowedHere(absl::string_view name, const std::vector<std::string>& allowed);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SPELLING_H_
