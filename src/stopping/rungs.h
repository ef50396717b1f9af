// The rungs of successive halving: steps after which only the best of the models that reach them train on.
#ifndef LANISTA_SRC_STOPPING_RUNGS_H_
#define LANISTA_SRC_STOPPING_RUNGS_H_

#include <map>
#include <optional>
#include <vector>

namespace lanista {

// Rungs are at the steps first_step, first_step * factor, first_step * factor^2, ... that are below `end`, if there is
// one: a model that has reached its last step has nothing left to train. REQUIRES: first_step >= 1, factor >= 2.
class Rungs {
 public:
  Rungs(int first_step, int factor, std::optional<int> end) : first_step_(first_step), factor_(factor), end_(end) {}

  // The rank of a model that has reached a rung.
  struct Place {
    // It is among the best `best` of the `reached` models that have reached the rung, itself included.
    bool goes_on = true;
    int best = 0;
    int reached = 0;
  };

  // Records that a model has done `step` with this value. nullopt: there is no rung at this step. Models with equal
  // values are equally good: all of them go on, or none.
  std::optional<Place> Reach(int step, double value);

 private:
  bool IsRung(int step) const;

  const int first_step_;
  const int factor_;
  const std::optional<int> end_;
  // For each rung, the values of the models that have reached it, the best first.
  std::map<int, std::vector<double>> values_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_RUNGS_H_
