// How often a model reports.
#ifndef LANISTA_SRC_CONFIG_STEPS_H_
#define LANISTA_SRC_CONFIG_STEPS_H_

#include <optional>

#include "protos/experiment.pb.h"

namespace lanista {

// Steps of a model that runs to its end: the epochs of the evaluators that train. nullopt: the configuration does not
// tell.
std::optional<int> StepsOf(const v1::EvaluatorConfig& evaluator);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_STEPS_H_
