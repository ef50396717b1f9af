// Whose trained weights are kept: those of the best models.
#ifndef LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_
#define LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protos/messages.pb.h"
#include "src/goals/goals.h"
#include "src/goals/ranking.h"

namespace lanista {

// Follows an experiment's attempts and outcomes. A plain object: files are its owner's matter. Used by one thread.
class KeptWeights {
 public:
  // `best`: how many models' are kept.
  KeptWeights(int best, Goals goals) : best_(static_cast<size_t>(best)), goals_(std::move(goals)) {}

  // An attempt leaves its model's weights in `folder`, if it comes that far.
  void Plan(int model, int attempt, std::string folder);

  // Returns the folders whose weights nobody needs any more, whether they are there or not: of attempts that did not
  // decide, of a model that did not succeed or breaks a limit, and of the one that is the last now in the order of
  // SortBestFirst (another, or this one). With several objectives that order is the one among those whose weights are
  // kept.
  std::vector<std::string> End(const v1::ModelOutcome& outcome);

  // Whether the weights in this folder are kept, or may be once their model has its outcome.
  bool Needs(const std::string& folder) const;

 private:
  const size_t best_;
  const Goals goals_;
  // Of models without an outcome: by model and attempt.
  std::map<int, std::map<int, std::string>> planned_;
  // Of which weights are kept, and the folder of each.
  std::vector<RankedModel> ranking_;
  std::map<int, std::string> kept_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_
