// How often a model reports.
#ifndef LANISTA_SRC_CONFIG_STEPS_H_
#define LANISTA_SRC_CONFIG_STEPS_H_

#include <optional>

#include "protos/experiment.pb.h"

namespace lanista {

// Steps of a model that runs to its end: the field of the evaluator that has the meaning STEPS (protos/options.proto),
// the epochs of those that train. nullopt: there is none.
std::optional<int> StepsOf(const v1::EvaluatorConfig& evaluator);

}  // namespace lanista

#endif  // LANISTA_SRC_CONFIG_STEPS_H_
