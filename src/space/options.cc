// The options of one choice: candidates, or combinations of candidates in lexicographic order.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/space/candidates.h"
#include "src/space/space.h"

namespace lanista {
namespace {

// C(n, k); nullopt if it does not fit into 31 bits.
std::optional<int32_t> Binomial(int64_t n, int64_t k) {
  if (k > n) return 0;
  k = std::min(k, n - k);
  int64_t result = 1;
  for (int64_t i = 1; i <= k; ++i) {
    // Here result is C(n - k + i - 1, i - 1), so the division is exact, and the result grows with i.
    result = result * (n - k + i) / i;
    if (result > std::numeric_limits<int32_t>::max()) return std::nullopt;
  }
  return static_cast<int32_t>(result);
}

}  // namespace

absl::StatusOr<int32_t> CountOptions(const v1::Choice& choice) {
  const int candidates = choice.candidates_size();
  const int chosen = ChosenOf(choice);
  if (candidates == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("choice '", choice.label(), "' has no candidates; give at least one"));
  }
  if (choice.n_chosen() < 0 || chosen > candidates) {
    return absl::InvalidArgumentError(absl::StrCat("choice '", choice.label(), "': n_chosen is ", choice.n_chosen(),
                                                   ", must be from 1 to its ", candidates, " candidates"));
  }
  const std::optional<int32_t> options = Binomial(candidates, chosen);
  if (!options.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat("choice '", choice.label(), "': ", chosen, " of ", candidates,
                                                   " candidates is more than 2^31 - 1 combinations"));
  }
  return *options;
}

v1::Decision MakeDecision(const v1::Choice& choice, int32_t option) {
  v1::Decision decision;
  decision.set_label(choice.label());
  const auto choose = [&](int index) {
    decision.add_index(index);
    *decision.add_value() = choice.candidates(index);
  };
  int left = ChosenOf(choice);
  if (left == 1) {
    choose(option);
    return decision;
  }
  for (int index = 0; left > 0; ++index) {
    const int32_t with_index = *Binomial(choice.candidates_size() - index - 1, left - 1);
    if (option < with_index) {
      choose(index);
      --left;
    } else {
      option -= with_index;
    }
  }
  return decision;
}

int32_t OptionOf(const v1::Choice& choice, const v1::Decision& decision) {
  std::vector<int> indices(decision.index().begin(), decision.index().end());
  if (indices.empty()) {
    for (const v1::Value& value : decision.value()) indices.push_back(FindCandidate(choice, value));
    std::sort(indices.begin(), indices.end());
  } else if (!decision.value().empty() && decision.value_size() != decision.index_size()) {
    return -1;
  }
  const int candidates = choice.candidates_size();
  const int chosen = ChosenOf(choice);
  if (static_cast<int>(indices.size()) != chosen) return -1;
  int32_t option = 0;
  int previous = -1;
  for (int i = 0; i < chosen; ++i) {
    const int index = indices[i];
    if (index <= previous || index >= candidates) return -1;
    if (!decision.index().empty() && !decision.value().empty() &&
        CanonicalText(decision.value(i)) != CanonicalText(choice.candidates(index))) {
      return -1;
    }
    if (chosen == 1) return index;
    for (int skipped = previous + 1; skipped < index; ++skipped) {
      option += *Binomial(candidates - skipped - 1, chosen - i - 1);
    }
    previous = index;
  }
  return option;
}

}  // namespace lanista
