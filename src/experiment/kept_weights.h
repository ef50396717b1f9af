// Decides which trained weights are kept: those of the best models.
#ifndef LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_
#define LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protos/messages.pb.h"
#include "protos/trial.pb.h"
#include "src/goals/goals.h"
#include "src/goals/ranking.h"

namespace lanista {

// Is told an experiment's attempts and outcomes. Touches no files: its owner removes them. Used by one thread.
class KeptWeights {
 public:
  // `best`: of how many models weights are kept.
  KeptWeights(int best, Goals goals) : best_(static_cast<size_t>(best)), goals_(std::move(goals)) {}

  // What becomes of weights because of an outcome.
  struct Ending {
    // Where the model's weights are kept, if they are.
    std::optional<v1::WeightsKept> kept;
    // The folders whose weights are not needed any more, whether they exist or not.
    std::vector<std::string> needless;
  };

  // An attempt will leave its model's weights in `folder`, if it succeeds.
  void Plan(int model, int attempt, std::string folder);

  // `left`: the deciding attempt left weights. Needless are the weights of attempts that did not decide, of a model
  // that did not succeed or breaks a limit, and of the model (this one or another) that is now the last in the order of
  // SortBestFirst. Only models that left weights are in that order; with several objectives, only those whose weights
  // are kept.
  Ending End(const v1::ModelOutcome& outcome, bool left = true);

  // What a model has to reach so that its weights are kept, by the outcomes so far: it only rises. A model that equals
  // it is kept only if it is the earlier one. Absent: there is still room; or there are several objectives, where what
  // is beaten now need not be the worst later.
  std::optional<v1::WeightsBar> Bar() const;

  // Whether the weights in this folder are kept, or may be once their model has its outcome.
  bool Needs(const std::string& folder) const;

 private:
  const size_t best_;
  const Goals goals_;
  // The folders of models without an outcome, by model and attempt.
  std::map<int, std::map<int, std::string>> planned_;
  // The models whose weights are kept, and their folders.
  std::vector<RankedModel> ranking_;
  std::map<int, std::string> kept_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EXPERIMENT_KEPT_WEIGHTS_H_
