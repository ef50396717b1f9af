#include "src/strategies/variation.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "src/space/draw.h"

namespace lanista {
namespace {

// The most sets of choices that are tried until one is found whose choices stay active together.
constexpr int kSets = 16;

// An option of `choice` other than `option`. REQUIRES: there are at least two.
int32_t AnotherOption(const Space& space, int choice, int32_t option, std::mt19937_64& random) {
  const auto other = static_cast<int32_t>(Uniform(random, space.option_count(choice) - 1));
  return other < option ? other : other + 1;
}

}  // namespace

Space::Options Mutate(const Space& space, const Space::Options& parent, int mutations, std::mt19937_64& random) {
  std::vector<int> choices;
  for (int i = 0; i < space.choice_count(); ++i) {
    if (parent[i] >= 0 && space.option_count(i) > 1) choices.push_back(i);
  }
  const int count = std::min(mutations, static_cast<int>(choices.size()));
  Space::Options child;
  for (int set = 0; set < kSets; ++set) {
    for (int i = 0; i < count; ++i) std::swap(choices[i], choices[i + Uniform(random, choices.size() - i)]);
    // Conditions refer to earlier choices only, so a later change cannot deactivate a choice that was changed before.
    std::vector<int> changed(choices.begin(), choices.begin() + count);
    std::sort(changed.begin(), changed.end());
    child = parent;
    int done = 0;
    for (const int choice : changed) {
      if (child[choice] < 0) continue;
      child = space.With(std::move(child), choice, AnotherOption(space, choice, parent[choice], random), random);
      ++done;
    }
    if (done == count) break;
  }
  return child;
}

Space::Options MutateEach(const Space& space, const Space::Options& parent, double probability,
                          std::mt19937_64& random) {
  Space::Options child = parent;
  for (int i = 0; i < space.choice_count(); ++i) {
    // A choice that an earlier change made active was drawn just now, so it is new already.
    if (parent[i] < 0 || child[i] < 0 || space.option_count(i) < 2) continue;
    if (UniformReal(random) >= probability) continue;
    child = space.With(std::move(child), i, AnotherOption(space, i, parent[i], random), random);
  }
  return child;
}

Space::Options Crossover(const Space& space, const Space::Options& a, const Space::Options& b,
                         std::mt19937_64& random) {
  Space::Options child(a.size(), -1);
  for (int i = 0; i < space.choice_count(); ++i) {
    if (!space.IsActive(i, child)) continue;
    if (a[i] >= 0 && b[i] >= 0) {
      child[i] = Uniform(random, 2) == 0 ? a[i] : b[i];
    } else if (a[i] >= 0 || b[i] >= 0) {
      child[i] = std::max(a[i], b[i]);
    } else {
      child[i] = static_cast<int32_t>(Uniform(random, space.option_count(i)));
    }
  }
  return child;
}

}  // namespace lanista
