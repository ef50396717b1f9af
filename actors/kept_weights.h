// Which trials' weights are kept: those of the best models.
#ifndef LANISTA_ACTORS_KEPT_WEIGHTS_H_
#define LANISTA_ACTORS_KEPT_WEIGHTS_H_

#include <optional>
#include <set>
#include <utility>

#include "protos/experiment.pb.h"

namespace lanista {

// Follows an experiment's outcomes. A plain object: files are its owner's matter. Used by one thread.
class KeptWeights {
 public:
  // `best`: how many.
  KeptWeights(int best, v1::Objective objective) : best_(best), minimize_(objective == v1::MINIMIZE) {}

  // A model succeeded with the metric `default` = `value`, in this trial. Returns the trial whose weights are no longer
  // needed: another one's, or its own. Of equal models the earlier stays.
  std::optional<int> Succeeded(int trial, double value);

 private:
  const int best_;
  const bool minimize_;
  // Value (the larger the better) and minus the trial: the worst first.
  std::set<std::pair<double, int>> kept_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_KEPT_WEIGHTS_H_
