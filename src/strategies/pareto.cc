#include "src/strategies/pareto.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>

#include "absl/types/span.h"
#include "src/goals/ranking.h"

namespace lanista {
namespace {

// The values that the observation is compared by. Refers to it.
absl::Span<const double> Objectives(const Observation& observation) {
  if (!observation.objectives.empty()) return observation.objectives;
  if (!observation.value.has_value()) return {};
  return absl::MakeConstSpan(&*observation.value, 1);
}

}  // namespace

bool Dominates(const Observation& a, const Observation& b) {
  if (const int standing = CompareStanding(a, b); standing != 0) return standing < 0;
  const absl::Span<const double> of_a = Objectives(a), of_b = Objectives(b);
  const size_t count = std::min(of_a.size(), of_b.size());
  return Beats(of_a.first(count), of_b.first(count));
}

std::vector<int> SortIntoFronts(const std::vector<const Observation*>& observations) {
  const size_t count = observations.size();
  std::vector<std::vector<size_t>> dominated(count);
  std::vector<int> dominators(count, 0);
  for (size_t a = 0; a < count; ++a) {
    for (size_t b = 0; b < count; ++b) {
      if (!Dominates(*observations[a], *observations[b])) continue;
      dominated[a].push_back(b);
      ++dominators[b];
    }
  }
  std::vector<int> fronts(count, 0);
  std::vector<size_t> current;
  for (size_t i = 0; i < count; ++i) {
    if (dominators[i] == 0) current.push_back(i);
  }
  for (int front = 0; !current.empty(); ++front) {
    std::vector<size_t> next;
    for (const size_t a : current) {
      fronts[a] = front;
      for (const size_t b : dominated[a]) {
        if (--dominators[b] == 0) next.push_back(b);
      }
    }
    current.swap(next);
  }
  return fronts;
}

std::vector<double> CrowdingDistances(const std::vector<const Observation*>& front) {
  std::vector<double> distances(front.size(), 0);
  if (front.empty()) return distances;
  std::vector<size_t> order(front.size());
  size_t objectives = Objectives(*front[0]).size();
  for (const Observation* const other : front) objectives = std::min(objectives, Objectives(*other).size());
  for (size_t objective = 0; objective < objectives; ++objective) {
    const auto value = [&](size_t i) { return Objectives(*front[i])[objective]; };
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value(a) < value(b); });
    distances[order.front()] = distances[order.back()] = std::numeric_limits<double>::infinity();
    const double extent = value(order.back()) - value(order.front());
    if (extent <= 0) continue;
    for (size_t i = 1; i + 1 < order.size(); ++i) {
      distances[order[i]] += (value(order[i + 1]) - value(order[i - 1])) / extent;
    }
  }
  return distances;
}

}  // namespace lanista
