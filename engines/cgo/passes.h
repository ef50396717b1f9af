// The optimiser passes of the CGO engine.
#ifndef LANISTA_ENGINES_CGO_PASSES_H_
#define LANISTA_ENGINES_CGO_PASSES_H_

#include <vector>

#include "engines/cgo/logical_plan.h"

namespace lanista {

// Finds work of several models that can be done once. A pass may merge works (LogicalPlan::Merge): whoever runs the
// plan computes what is merged once and hands the values on.
struct Pass {
  // "DedupInput".
  const char* name;
  void (*run)(LogicalPlan* plan);
};

// Each batch is read, decoded, transformed and moved to the device once (NNI: DedupInputOptimizer).
void DedupInput(LogicalPlan* plan);

// Steps that come to the same are run once, from the batch on: frozen parts with equal weights, and operators without
// parameters, state or chance.
void DedupPrefix(LogicalPlan* plan);

// All passes, in the order in which they run: a new one goes here.
const std::vector<Pass>& Passes();

// Runs them all.
void Optimise(LogicalPlan* plan);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_PASSES_H_
