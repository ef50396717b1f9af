// How much memory models take while they train together.
#ifndef LANISTA_ENGINES_CGO_MEMORY_H_
#define LANISTA_ENGINES_CGO_MEMORY_H_

#include <cstdint>
#include <vector>

#include "engines/cgo/logical_plan.h"
#include "protos/experiment.pb.h"

namespace lanista {

// What an evaluator's configuration says about memory.
struct TrainingMemory {
  // Samples of a training batch: the unknown first dimension of values.
  int64_t batch_size = 64;
  // Numbers that the optimizer keeps for each weight.
  int optimizer_state = 2;
};
// Of evaluators of the user's own it knows nothing: the defaults.
TrainingMemory TrainingMemoryOf(const v1::EvaluatorConfig& evaluator);

// Estimated bytes of `models` together: weights, and for those that train gradients and optimizer state; the values
// that stay until the backward pass; what is shared once. Values whose shapes are not known count as nothing, and so do
// models whose steps are not known.
int64_t EstimateMemory(const LogicalPlan& plan, const std::vector<int>& models, const TrainingMemory& training);

// How much a device can take. Learns from what trials took how far estimates are off. Used by one thread.
class MemoryBudget {
 public:
  // `device_memory`: bytes; 0: not known, and anything fits.
  explicit MemoryBudget(int64_t device_memory) : device_memory_(device_memory) {}

  // Bytes that so many models, estimated at `estimate` bytes, will take.
  int64_t Corrected(int64_t estimate, int models) const;
  bool Fits(int64_t estimate, int models) const;

  // A trial of so many models, estimated so, took `measured` bytes.
  void Observe(int64_t estimate, int models, int64_t measured);

  int64_t device_memory() const { return device_memory_; }

 private:
  const int64_t device_memory_;
  // Measured bytes by estimated ones, the largest so far. Never below 1: memory that an earlier trial left to the
  // process is not seen to grow.
  double factor_ = 1;
  // Measured bytes of a model in trials whose estimates are too small to say much, the largest so far.
  int64_t model_bytes_ = 0;
};

}  // namespace lanista

#endif  // LANISTA_ENGINES_CGO_MEMORY_H_
