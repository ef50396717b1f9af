// The optimiser passes of the CGO engine.
#ifndef LANISTA_ENGINES_CGO_PASSES_H_
#define LANISTA_ENGINES_CGO_PASSES_H_

#include "engines/cgo/logical_plan.h"

namespace lanista {

// A pass finds work of several models that can be done once, and merges it (LogicalPlan::Merge): whoever runs the plan
// computes what is merged once and hands the values on. Passes run in the order of the list in passes.cc.

// Each batch is read, decoded, transformed and moved to the device once (NNI: DedupInputOptimizer).
void DedupInput(LogicalPlan* plan);

// Steps that come to the same are run once, from the batch on: frozen parts with equal weights, and operators without
// parameters, state or chance.
void DedupPrefix(LogicalPlan* plan);

// Runs all passes.
void Optimise(LogicalPlan* plan);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_PASSES_H_
