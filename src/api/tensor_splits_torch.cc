#include "src/api/tensor_splits_torch.h"

#include <ATen/Functions.h>
#include <c10/core/ScalarType.h>

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/status.h"

namespace lanista::data {
namespace {

// One part as a data set keeps it.
absl::StatusOr<Example> Prepare(const Example& part, Task task, const std::string& name) {
  const auto problem = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("the tensors of the ", name, " data: ", what));
  };
  if (!part.input.defined() || !part.target.defined()) return problem("inputs or targets are missing");
  if (part.input.dim() < 2) return problem("inputs have shape [N, ...], with at least two dimensions");
  if (part.target.dim() < 1 || part.target.size(0) != part.input.size(0)) {
    return problem(absl::StrCat("there are ", part.input.size(0), " inputs and ",
                                part.target.dim() < 1 ? 0 : part.target.size(0), " targets; each input needs one"));
  }
  if (part.input.size(0) < 1) return problem("there are no samples");
  if (part.input.is_complex() || part.target.is_complex()) return problem("complex numbers are not supported");
  Example prepared;
  prepared.input = part.input.detach().to(at::kCPU, at::kFloat).contiguous();
  if (task == Task::kRegression) {
    if (part.target.dim() > 2) return problem("targets have shape [N] or [N, targets]");
    prepared.target = part.target.detach().to(at::kCPU, at::kFloat).reshape({part.target.size(0), -1}).contiguous();
    return prepared;
  }
  if (!c10::isIntegralType(part.target.scalar_type(), /*includeBool=*/true) || part.target.dim() != 1) {
    return problem("classes are integers of shape [N], from 0");
  }
  prepared.target = part.target.detach().to(at::kCPU, at::kLong).contiguous();
  if (prepared.target.min().item<int64_t>() < 0) return problem("classes are integers from 0; one is negative");
  return prepared;
}

absl::StatusOr<DataSplits> Splits(const Example& train, const Example& validation, Task task) {
  LANISTA_ASSIGN_OR_RETURN(Example training, Prepare(train, task, "training"));
  LANISTA_ASSIGN_OR_RETURN(Example validating, Prepare(validation, task, "validation"));
  DataSplits splits;
  splits.task = task;
  splits.input_shape = training.input.sizes().slice(1).vec();
  if (validating.input.sizes().slice(1) != training.input.sizes().slice(1) ||
      validating.target.sizes().slice(1) != training.target.sizes().slice(1)) {
    return absl::InvalidArgumentError("the tensors of the training and the validation data have different shapes");
  }
  splits.outputs = task == Task::kRegression
                       ? training.target.size(1)
                       : 1 + std::max(training.target.max().item<int64_t>(), validating.target.max().item<int64_t>());
  splits.train = MakeInMemoryDataset(std::move(training));
  splits.validation = MakeInMemoryDataset(std::move(validating));
  return splits;
}

}  // namespace

absl::StatusOr<DataSplits> ClassificationSplits(const Example& train, const Example& validation) {
  return Splits(train, validation, Task::kClassification);
}

absl::StatusOr<DataSplits> RegressionSplits(const Example& train, const Example& validation) {
  return Splits(train, validation, Task::kRegression);
}

}  // namespace lanista::data
