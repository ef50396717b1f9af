// The rungs of successive halving: steps at which only the best of the models that come so far go on.
#ifndef LANISTA_SRC_STOPPING_RUNGS_H_
#define LANISTA_SRC_STOPPING_RUNGS_H_

#include <map>
#include <optional>
#include <vector>

namespace lanista {

// The steps of rungs: first_step, first_step * factor, first_step * factor^2, ..., as long as they are below max_steps,
// where that is known: whoever has come to the last step runs no further anyway.
// REQUIRES: first_step >= 1, factor >= 2.
class Rungs {
 public:
  Rungs(int first_step, int factor, std::optional<int> max_steps)
      : first_step_(first_step), factor_(factor), max_steps_(max_steps) {}

  // How a model stands that reached a rung.
  struct Place {
    // It is among the best `best` of the `reached` models that have reached the rung, itself included.
    bool goes_on = true;
    int best = 0;
    int reached = 0;
  };

  // A model has done `step` with this value. nullopt: there is no rung at this step. Models with equal values are
  // equally good: either all of them go on or none.
  std::optional<Place> Reach(int step, double value);

 private:
  bool IsRung(int step) const;

  const int first_step_;
  const int factor_;
  const std::optional<int> max_steps_;
  // By rung: the values of the models that have reached it, the best first.
  std::map<int, std::vector<double>> values_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_RUNGS_H_
