#include "src/space/condition_formula.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace lanista::discovery {

const Formula& Always() {
  static const Formula* const always = new Formula(1);
  return *always;
}

const Formula& Never() {
  static const Formula* const never = new Formula;
  return *never;
}

namespace {

bool IsSubset(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

}  // namespace

bool Implies(const Conjunction& a, const Conjunction& b) {
  return std::all_of(b.begin(), b.end(), [&](const auto& term) {
    const auto found = a.find(term.first);
    return found != a.end() && IsSubset(found->second, term.second);
  });
}

namespace {

// Merges `b` into `a` if they differ in the options of one choice at most.
bool Unite(Conjunction* a, const Conjunction& b) {
  if (a->size() != b.size()) return false;
  auto differing = a->end();
  auto other = b.begin();
  auto j = b.begin();
  for (auto i = a->begin(); i != a->end(); ++i, ++j) {
    if (i->first != j->first) return false;
    if (i->second == j->second) continue;
    if (differing != a->end()) return false;
    differing = i;
    other = j;
  }
  if (differing == a->end()) return true;
  std::vector<int32_t> both;
  std::set_union(differing->second.begin(), differing->second.end(), other->second.begin(), other->second.end(),
                 std::back_inserter(both));
  differing->second = std::move(both);
  return true;
}

}  // namespace

void AddTo(Formula* formula, Conjunction added) {
  // Each round removes one conjunction from the formula, so the loop ends.
  for (size_t i = 0; i < formula->size();) {
    if (Implies(added, (*formula)[i])) return;
    if (Implies((*formula)[i], added) || Unite(&added, (*formula)[i])) {
      formula->erase(formula->begin() + i);
      i = 0;
    } else {
      ++i;
    }
  }
  formula->push_back(std::move(added));
}

Formula Or(Formula a, const Formula& b) {
  for (const Conjunction& conjunction : b) AddTo(&a, conjunction);
  return a;
}

Formula And(const Formula& a, const Formula& b) {
  Formula result;
  for (const Conjunction& left : a) {
    for (const Conjunction& right : b) {
      Conjunction both = left;
      bool possible = true;
      for (const auto& [choice, options] : right) {
        const auto [entry, is_new] = both.emplace(choice, options);
        if (is_new) continue;
        std::vector<int32_t> common;
        std::set_intersection(entry->second.begin(), entry->second.end(), options.begin(), options.end(),
                              std::back_inserter(common));
        entry->second = std::move(common);
        possible = possible && !entry->second.empty();
      }
      if (possible) AddTo(&result, std::move(both));
    }
  }
  return result;
}

}  // namespace lanista::discovery
