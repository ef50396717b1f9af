#include "src/goals/ranking.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace lanista {

bool Beats(absl::Span<const double> a, absl::Span<const double> b) {
  bool better = false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] < b[i]) return false;
    better = better || a[i] > b[i];
  }
  return better;
}

void SortBestFirst(std::vector<RankedModel>& models) {
  // In this order no later model beats an earlier one.
  std::sort(models.begin(), models.end(), [](const RankedModel& a, const RankedModel& b) {
    return a.values != b.values ? a.values > b.values : a.model < b.model;
  });
  std::vector<std::vector<const RankedModel*>> fronts;
  const RankedModel* before = nullptr;
  for (RankedModel& model : models) {
    // Equal models are in the same front, which needs only one of them for comparisons.
    const bool known = before != nullptr && before->values == model.values;
    if (known) model.front = before->front;
    before = &model;
    if (known) continue;
    // A model that is beaten by a front is also beaten by all fronts before it. With two objectives, the last model of
    // a front has the largest second value in it; with more, it is the one that most likely beats the model.
    const auto beaten = [&model](const std::vector<const RankedModel*>& front) {
      const auto beats = [&model](const RankedModel* other) { return Beats(other->values, model.values); };
      return model.values.size() <= 2 ? beats(front.back()) : std::any_of(front.rbegin(), front.rend(), beats);
    };
    const auto front = std::partition_point(fronts.begin(), fronts.end(), beaten);
    model.front = static_cast<int>(std::distance(fronts.begin(), front));
    if (front == fronts.end()) {
      fronts.push_back({&model});
    } else {
      front->push_back(&model);
    }
  }
  std::stable_sort(models.begin(), models.end(), [](const RankedModel& a, const RankedModel& b) {
    if (a.front != b.front) return a.front < b.front;
    return a.values[0] != b.values[0] ? a.values[0] > b.values[0] : a.model < b.model;
  });
}

}  // namespace lanista
