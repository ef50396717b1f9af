// Estimates how much memory models take while they train together.
#ifndef LANISTA_ENGINES_CGO_MEMORY_H_
#define LANISTA_ENGINES_CGO_MEMORY_H_

#include <cstdint>
#include <vector>

#include "engines/cgo/logical_plan.h"
#include "protos/experiment.pb.h"

namespace lanista {

// The parts of an evaluator's configuration that matter for memory.
struct TrainingMemory {
  // Samples in a training batch: the size used for an unknown first dimension.
  int64_t batch_size = 64;
  // Number of values that the optimizer keeps for each weight.
  int optimizer_state = 2;
};
// By the options of the evaluator's and the optimizer's fields (protos/options.proto). Returns the default values for
// evaluators without them, because nothing is known about them.
TrainingMemory TrainingMemoryOf(const v1::EvaluatorConfig& evaluator);

// Estimated bytes of `models` together: weights; gradients and optimizer state of those that train; the values that
// must be kept until the backward pass. Shared work counts once. Values of unknown shape count as 0, and so do models
// whose steps are unknown.
int64_t EstimateMemory(const LogicalPlan& plan, const std::vector<int>& models, const TrainingMemory& training);

// The memory of a device. Learns from the memory that trials took how wrong the estimates are. Used by one thread.
class MemoryBudget {
 public:
  // `device_memory`: bytes; 0: unknown, so that everything fits.
  explicit MemoryBudget(int64_t device_memory) : device_memory_(device_memory) {}

  // The bytes that `models` models with an estimate of `estimate` bytes will probably take.
  int64_t Corrected(int64_t estimate, int models) const;
  bool Fits(int64_t estimate, int models) const;

  // Devices come and go.
  void SetDeviceMemory(int64_t bytes) { device_memory_ = bytes; }

  // Reports that a trial of `models` models, estimated at `estimate` bytes, took `measured` bytes.
  void Observe(int64_t estimate, int models, int64_t measured);

  int64_t device_memory() const { return device_memory_; }

 private:
  int64_t device_memory_;
  // Largest ratio of measured to estimated bytes so far. Never below 1, because memory that the process kept from an
  // earlier trial is not measured again.
  double factor_ = 1;
  // Largest measured bytes per model so far, from trials whose estimates are too small to give a useful ratio.
  int64_t model_bytes_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_MEMORY_H_
