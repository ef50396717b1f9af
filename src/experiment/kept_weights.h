// Whose trained weights are kept: those of the best models.
#ifndef LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_
#define LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protos/experiment.pb.h"
#include "protos/messages.pb.h"

namespace lanista {

// Follows an experiment's attempts and outcomes. A plain object: files are its owner's matter. Used by one thread.
class KeptWeights {
 public:
  // `best`: how many models' are kept.
  KeptWeights(int best, v1::Objective objective) : best_(best), minimize_(objective == v1::MINIMIZE) {}

  // An attempt leaves its model's weights in `folder`, if it comes that far.
  void Plan(int model, int attempt, std::string folder);

  // Returns the folders whose weights nobody needs any more, whether they are there or not: of attempts that did not
  // decide, of a model that did not succeed, and of the one that is not among the best now (another, or this one; of
  // equal models the earlier stays).
  std::vector<std::string> End(const v1::ModelOutcome& outcome);

  // Whether the weights in this folder are kept, or may be once their model has its outcome.
  bool Needs(const std::string& folder) const;

 private:
  const int best_;
  const bool minimize_;
  // Of models without an outcome: by model and attempt.
  std::map<int, std::map<int, std::string>> planned_;
  // By value (the larger the better) and minus the model: the worst first.
  std::map<std::pair<double, int>, std::string> kept_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_
