#include "engines/cgo/assembler.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace lanista {
namespace {

double Gibibytes(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

std::vector<AssembledTrial> Assemble(const LogicalPlan& plan, int max_models, int free_trials,
                                     const TrainingMemory& training, const MemoryBudget& budget) {
  const int count = static_cast<int>(plan.chains().size());
  const int could_start = std::min(free_trials, count);
  const int trials = std::max((count + max_models - 1) / max_models, could_start);
  std::vector<AssembledTrial> assembled;
  int number = 0;
  int last_share = -1;
  // For each trial, whether memory was the reason that it is not larger.
  std::vector<bool> full;
  for (const auto& [model, chain] : plan.chains()) {
    const auto share = static_cast<int>(int64_t{number++} * trials / count);
    if (share == last_share) {
      AssembledTrial& trial = assembled.back();
      std::vector<int> models = trial.models;
      models.push_back(model);
      const int64_t memory = EstimateMemory(plan, models, training);
      if (budget.Fits(memory, static_cast<int>(models.size()))) {
        trial.models = std::move(models);
        trial.memory = memory;
        continue;
      }
      full.back() = true;
    }
    full.push_back(share == last_share);
    last_share = share;
    assembled.push_back({{model}, "", EstimateMemory(plan, {model}, training)});
  }
  for (size_t i = 0; i < assembled.size(); ++i) {
    AssembledTrial& trial = assembled[i];
    if (trial.models.size() > 1) continue;
    if (max_models == 1) {
      trial.alone_because = "max_concurrency_cgo is 1";
    } else if (count == 1) {
      trial.alone_because = "no other model was waiting";
    } else if (full[i]) {
      trial.alone_because =
          absl::StrFormat("memory: the device (%.1f GiB) has no room for another model beside its estimated %.1f GiB",
                          Gibibytes(budget.device_memory()), Gibibytes(budget.Corrected(trial.memory, 1)));
    } else if (could_start == trials) {
      trial.alone_because = "a device was free for it";
    } else {
      trial.alone_because = absl::StrCat("it is left of ", count, " models: max_concurrency_cgo is ", max_models);
    }
  }
  return assembled;
}

}  // namespace lanista
