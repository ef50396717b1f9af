// The optimiser passes of the CGO engine.
#ifndef LANISTA_ENGINES_CGO_SHARING_PASSES_H_
#define LANISTA_ENGINES_CGO_SHARING_PASSES_H_

#include "engines/cgo/logical_plan.h"

namespace lanista {

// A pass finds work that several models have in common and merges it (LogicalPlan::Merge): the trial then does this
// work once for all of them. Passes run in the order of the list in sharing_passes.cc.

// Merges the batches: each batch is read, decoded, transformed and moved to the device once (NNI: DedupInputOptimizer).
void DedupInput(LogicalPlan* plan);

// Merges equal steps at the beginning of the models: frozen parts with equal weights, and operators without parameters,
// state or randomness.
void DedupPrefix(LogicalPlan* plan);

// Runs all passes.
void Optimise(LogicalPlan* plan);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_SHARING_PASSES_H_
