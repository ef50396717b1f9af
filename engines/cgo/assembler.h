// Makes trials of the models of a plan.
#ifndef LANISTA_ENGINES_CGO_ASSEMBLER_H_
#define LANISTA_ENGINES_CGO_ASSEMBLER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engines/cgo/logical_plan.h"
#include "engines/cgo/memory.h"

namespace lanista {

struct AssembledTrial {
  std::vector<int> models;
  // Where it is one model: why.
  std::string alone_because;
  // Estimated bytes, not corrected.
  int64_t memory = 0;
};

// Spreads the models of an optimised plan evenly: over all trials that could start at once (`free_trials`), for a
// device that has nothing to do helps nobody; over more where they do not fit, be it by `max_models` of a trial or by
// the memory of a device. Neighbours stay together.
std::vector<AssembledTrial> Assemble(const LogicalPlan& plan, int max_models, int free_trials,
                                     const TrainingMemory& training, const MemoryBudget& budget);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_ASSEMBLER_H_
