// The order of models: by one objective, or by several.
#ifndef LANISTA_SRC_GOALS_RANKING_H_
#define LANISTA_SRC_GOALS_RANKING_H_

#include <vector>

#include "absl/types/span.h"

namespace lanista {

// Whether `a` is nowhere worse than `b`, and somewhere better: Pareto's domination. As many values in both; larger is
// better. The one comparison of models by several objectives, for those that are shown and for strategies.
bool Beats(absl::Span<const double> a, absl::Span<const double> b);

// A model that is to be compared with others.
struct RankedModel {
  int model = 0;
  // Of the objectives, as Goals::Values gives them.
  std::vector<double> values;
  // 0: no other model beats it (the Pareto front); 1: none but those of front 0 beat it; and so on. SortBestFirst sets
  // it.
  int front = 0;
};

// Sorts by front, then by the first objective, then the earlier model first. With one objective that is by its value.
// Fronts are found by efficient non-dominated sorting: Zhang, Tian, Cheng and Jin, "An Efficient Approach to
// Nondominated Sorting for Evolutionary Multiobjective Optimization", 2015. Takes n log n comparisons with one or two
// objectives; with more, up to the square of the largest front.
void SortBestFirst(std::vector<RankedModel>& models);

}  // namespace lanista

#endif  // LANISTA_SRC_GOALS_RANKING_H_
