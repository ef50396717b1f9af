// Divides the models of a plan into trials.
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
  // The reason, if it is a single model.
  std::string alone_because;
  // Estimated bytes, before MemoryBudget corrects them.
  int64_t memory = 0;
};

// Spreads the models of an optimised plan evenly over all trials that could start at once (`free_trials`), so that no
// device stays idle; over more trials if `max_models` per trial or the memory of a device requires it. Neighbouring
// models stay together.
std::vector<AssembledTrial> Assemble(const LogicalPlan& plan, int max_models, int free_trials,
                                     const TrainingMemory& training, const MemoryBudget& budget);

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_ASSEMBLER_H_
