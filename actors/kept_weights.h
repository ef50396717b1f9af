// Which models' weights are kept: those of the best.
#ifndef LANISTA_ACTORS_KEPT_WEIGHTS_H_
#define LANISTA_ACTORS_KEPT_WEIGHTS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "protos/experiment.pb.h"

namespace lanista {

// Follows an experiment's outcomes. A plain object: files are its owner's matter. Used by one thread.
class KeptWeights {
 public:
  // `best`: how many.
  KeptWeights(int best, v1::Objective objective) : best_(best), minimize_(objective == v1::MINIMIZE) {}

  // A model succeeded with the metric `default` = `value`, and left its weights in `file`. Returns the file that is no
  // longer needed: another model's, or its own. Of equal models the earlier stays.
  std::optional<std::string> Succeeded(int model, const std::string& file, double value);

 private:
  const int best_;
  const bool minimize_;
  // By value (the larger the better) and minus the model: the worst first.
  std::map<std::pair<double, int>, std::string> kept_;
};

}  // namespace lanista

#endif  // LANISTA_ACTORS_KEPT_WEIGHTS_H_
