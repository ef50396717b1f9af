// Which choices decide whether a model is among the best.
#ifndef LANISTA_SRC_WEB_IMPORTANCE_H_
#define LANISTA_SRC_WEB_IMPORTANCE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"
#include "protos/experiment.pb.h"
#include "src/web/experiment_table.h"

namespace lanista {

// One choice in each of the models that are compared: which candidate (or combination) was chosen; -1: it is not
// active.
using ChosenCandidates = std::vector<int32_t>;

// The importance of each choice for being one of the best, by conditional PED-ANOVA: Watanabe, Bansal and Hutter,
// "PED-ANOVA: Efficiently Quantifying Hyperparameter Importance in Arbitrary Subspaces", 2023, and its extension to
// spaces in which choices are active under conditions (arXiv 2601.20800).
//
// Of the models in which a choice is active, let p(c) be the share with candidate c, q(c) the same among the best of
// them, and g the share of the best. The variance of the chance to be one of the best, over the candidates, is
// g^2 sum_c p(c) (q(c) / p(c) - 1)^2: Pearson's divergence of q from p. It counts by the share of models in which the
// choice is active, so that an inactive choice neither gains nor loses by what made it inactive. The results sum up to
// 1, or are all 0, where no choice matters. nullopt: the choice is nowhere active, or has one candidate only: nothing
// can be said.
//
// `best`: whether each model is one of the best; as long as each of `choices`.
std::vector<std::optional<double>> ChoiceImportance(const std::vector<ChosenCandidates>& choices,
                                                    const std::vector<bool>& best);

// `importance`: {"metric", "goal", "top", "models", "too_few", "choices": [{"label", "importance"}]}, of the models
// that succeeded and have the metric. The best are the share `top` (above 0, at most 1) of them, and all that are equal
// to the last of these: the largest, or the smallest where `goal` is MINIMIZE. Without a goal it is that of the
// objective; a metric that is none is maximized.
nlohmann::ordered_json ImportanceDocument(const ExperimentTable& table, absl::string_view metric, double top,
                                          std::optional<v1::ObjectiveConfig::Goal> goal = std::nullopt);

}  // namespace lanista

#endif  // LANISTA_SRC_WEB_IMPORTANCE_H_
