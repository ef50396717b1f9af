// Models that the user wants to try before the strategy proposes any.
#ifndef LANISTA_SRC_STRATEGIES_INITIAL_MODELS_H_
#define LANISTA_SRC_STRATEGIES_INITIAL_MODELS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/repeated_field.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "src/space/space.h"
#include "src/strategies/known_limits.h"
#include "src/strategies/strategy.h"

namespace lanista {

// The models of `initial`. Active choices that a sample leaves out are drawn, the same ones for the same seed, so that
// those that it names are active and the model is within the limits. INVALID_ARGUMENT names `initial[i].sample` and the
// label, and what is allowed there; or an earlier one that is the same model; or how far the nearest of the models that
// were drawn is from the limits.
absl::StatusOr<std::vector<v1::Sample>> ReadInitialModels(
    const google::protobuf::RepeatedPtrField<v1::InitialModelConfig>& initial, const Space& space,
    const LimitsOfSamples& limits, uint64_t seed);

// A strategy that proposes `first`, in this order, and then asks `strategy`. That one is told the outcomes of `first`,
// and does not propose the same models again.
std::unique_ptr<Strategy> BeginWith(std::vector<v1::Sample> first, std::unique_ptr<Strategy> strategy);

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_INITIAL_MODELS_H_
