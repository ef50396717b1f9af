#include "engines/cgo/sharing_passes.h"

#include <map>
#include <string>
#include <utility>

namespace lanista {
namespace {

// All passes, in the order in which they run. Add new ones here.
constexpr void (*kPasses[])(LogicalPlan* plan) = {DedupInput, DedupPrefix};

}  // namespace

void DedupInput(LogicalPlan* plan) {
  int first = -1;
  // Merging changes chains, not the number of models.
  for (const auto& [model, chain] : plan->chains()) {
    const int batch = chain.front();
    if (first < 0) {
      first = batch;
    } else {
      plan->Merge(first, batch);
    }
  }
}

void DedupPrefix(LogicalPlan* plan) {
  // Keyed by the previous work and the key of the work.
  std::map<std::pair<int, std::string>, int> known;
  for (const auto& [model, chain] : plan->chains()) {
    for (size_t position = 1; position < chain.size(); ++position) {
      const int number = chain[position];
      const LogicalPlan::Work& work = plan->works()[static_cast<size_t>(number)];
      if (!work.own_because.empty()) break;
      const auto [same, is_new] = known.try_emplace({work.after, work.key}, number);
      if (!is_new && same->second != number) plan->Merge(same->second, number);
    }
  }
}

void Optimise(LogicalPlan* plan) {
  for (const auto pass : kPasses) pass(plan);
}

}  // namespace lanista
