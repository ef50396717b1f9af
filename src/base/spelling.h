// Names as people type them.
#ifndef LANISTA_SRC_BASE_SPELLING_H_
#define LANISTA_SRC_BASE_SPELLING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace lanista {

// Edits (insert, delete or replace one character, swap two neighbours) that make `b` of `a`.
int EditDistance(absl::string_view a, absl::string_view b);

// "; did you mean 'near'?" where one of `known` is near enough to `name`, upper or lower case alike; else "".
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known);

}  // namespace lanista

#endif  // LANISTA_SRC_BASE_SPELLING_H_
