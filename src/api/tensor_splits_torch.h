// Data sets out of tensors.
#ifndef LANISTA_SRC_API_TENSOR_SPLITS_TORCH_H_
#define LANISTA_SRC_API_TENSOR_SPLITS_TORCH_H_

#include "absl/status/statusor.h"
#include "src/data/dataset.h"

namespace lanista::data {

// Data in memory for classification: inputs [N, ...] of any numeric type, and classes [N], integers from 0. There are
// as many classes as the largest one of both parts says. Tensors on GPUs are copied. INVALID_ARGUMENT names the part
// and what is wrong with its tensors.
absl::StatusOr<DataSplits> ClassificationSplits(const Example& train, const Example& validation);

// The same for regression: targets [N] or [N, targets] of any numeric type.
absl::StatusOr<DataSplits> RegressionSplits(const Example& train, const Example& validation);

}  // namespace lanista::data

#endif  // LANISTA_SRC_API_TENSOR_SPLITS_TORCH_H_
