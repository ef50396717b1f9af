// What a supervised evaluator minimises, and how it measures a model.
#ifndef LANISTA_SRC_EVALUATORS_CRITERION_H_
#define LANISTA_SRC_EVALUATORS_CRITERION_H_

#include <ATen/core/Tensor.h>

#include <memory>

#include "absl/status/statusor.h"
#include "src/evaluators/evaluator.h"

namespace lanista {

// Sums up a model's predictions, one batch after the other. The sums stay on the device, so that nothing waits for the
// device before Finish.
class Measure {
 public:
  virtual ~Measure() = default;

  // Adds one batch: the result of Criterion::Scores for the model's output, and the targets.
  virtual void Add(const at::Tensor& scores, const at::Tensor& target) = 0;

  // The metrics over all batches that were added, including `default`. REQUIRES: at least one was added.
  virtual MetricMap Finish() const = 0;
};

// Immutable: serves any number of models.
class Criterion {
 public:
  virtual ~Criterion() = default;

  // The model's output in the shape that Loss and Measure need. INVALID_ARGUMENT names both shapes if the output does
  // not fit the `target` of the same batch.
  virtual absl::StatusOr<at::Tensor> Scores(const at::Tensor& output, const at::Tensor& target) const = 0;

  // The mean over the batch, a scalar.
  virtual at::Tensor Loss(const at::Tensor& scores, const at::Tensor& target) const = 0;

  // A new measurement, for one model.
  virtual std::unique_ptr<Measure> NewMeasure() const = 0;
};

}  // namespace lanista

#endif  // LANISTA_SRC_EVALUATORS_CRITERION_H_
