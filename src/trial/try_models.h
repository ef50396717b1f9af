// Tries models of a space before a search begins, to report errors that would make all of them fail.
#ifndef LANISTA_SRC_TRIAL_TRY_MODELS_H_
#define LANISTA_SRC_TRIAL_TRY_MODELS_H_

#include <functional>

#include "absl/status/status.h"
#include "c10/core/Device.h"
#include "engines/model_builder.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "src/evaluators/evaluator.h"

namespace lanista {

// Builds models of `space`, as Discover found it, on `device` and runs each on a sample of the evaluator's data (or,
// where that has none, on zeros of the shape that the graph gives its input) until one runs: the first model of the
// space, then a few that are drawn. `before_try` is called with each of them. Adds a warning to `space` where some do
// not run. Trains nothing.
//
// FAILED_PRECONDITION: none of them runs on a sample (the message is the first one's), or the space is wrong (a layer
// that is not registered). INVALID_ARGUMENT: the space is wrong (a choice that is asked in forward).
absl::Status TryModels(ModelBuilder& builder, const v1::SpaceConfig& config, Evaluator& evaluator, c10::Device device,
                       const std::function<void(const v1::Sample& sample)>& before_try, v1::SpaceSpec* space);

}  // namespace lanista

#endif  // LANISTA_SRC_TRIAL_TRY_MODELS_H_
