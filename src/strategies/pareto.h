// Comparing models by several objectives.
#ifndef LANISTA_SRC_STRATEGIES_PARETO_H_
#define LANISTA_SRC_STRATEGIES_PARETO_H_

#include <vector>

#include "src/strategies/strategy.h"

namespace lanista {

// Constrained domination (Deb, Pratap, Agarwal and Meyarivan, "A Fast and Elitist Multiobjective Genetic Algorithm:
// NSGA-II", 2002): `a` has the better standing (CompareStanding), or the same one and Beats `b`. `value` is the only
// objective where there are no `objectives`.
bool Dominates(const Observation& a, const Observation& b);

// Deb's fast non-dominated sorting: the front of each observation, 0 for those that nothing dominates, 1 for those that
// only front 0 dominates, and so on.
std::vector<int> SortIntoFronts(const std::vector<const Observation*>& observations);

// Crowding distances of the observations of one front: for each objective, how far the neighbours on both sides are
// from each other, as a part of the front's extent; infinity at the ends.
std::vector<double> CrowdingDistances(const std::vector<const Observation*>& front);

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_PARETO_H_
