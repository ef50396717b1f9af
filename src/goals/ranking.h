// The order of models: by one objective, or by several.
#ifndef LANISTA_SRC_GOALS_RANKING_H_
#define LANISTA_SRC_GOALS_RANKING_H_

#include <vector>

#include "absl/types/span.h"

namespace lanista {

// Whether `a` dominates `b` (Pareto): it is worse in no value and better in at least one; larger is better. REQUIRES:
// both have the same number of values. Views and strategies both use this comparison.
bool Beats(absl::Span<const double> a, absl::Span<const double> b);

// A model that is to be compared with others.
struct RankedModel {
  int model = 0;
  // The values of the objectives, from Goals::Values.
  std::vector<double> values;
  // Set by SortBestFirst. 0: no other model beats it (the Pareto front); 1: only models of front 0 beat it; and so on.
  int front = 0;
};

// Sorts by front, then by the first objective, then the earlier model first. With one objective that is by its value.
// Fronts are found by efficient non-dominated sorting: Zhang, Tian, Cheng and Jin, "An Efficient Approach to
// Nondominated Sorting for Evolutionary Multiobjective Optimization", 2015. Takes n log n comparisons with one or two
// objectives; with more, up to the square of the largest front.
void SortBestFirst(std::vector<RankedModel>& models);

}  // namespace lanista

#endif  // LANISTA_SRC_GOALS_RANKING_H_
