#include "src/base/spelling.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace lanista {

// Optimal string alignment, row by row.
int EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<int> before(b.size() + 1), row(b.size() + 1), next(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    next[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before.swap(row);
    row.swap(next);
  }
  return row.back();
}

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known) {
  const auto distance = [&](const std::string& candidate) {
    return EditDistance(absl::AsciiStrToLower(name), absl::AsciiStrToLower(candidate));
  };
  const auto nearest = std::min_element(known.begin(), known.end(),
                                        [&](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (nearest == known.end() || distance(*nearest) > static_cast<int>(std::max(name.size(), nearest->size())) / 3) {
    return "";
  }
  return absl::StrCat("; did you mean '", *nearest, "'?");
}

std::string AllowedHere(absl::string_view name, const std::vector<std::string>& allowed) {
  const std::string guess = DidYouMean(name, allowed);
  return absl::StrCat(guess.empty() ? ";" : guess, " allowed here: ", absl::StrJoin(allowed, ", "));
}

}  // namespace lanista
