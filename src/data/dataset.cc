#include "src/data/dataset.h"

#include <ATen/ops/sum.h>

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/component.h"
#include "src/base/status.h"
#include "src/config/validate.h"
#include "src/data/rows.h"

namespace lanista::data {
namespace {

class InMemoryDataset : public Dataset {
 public:
  explicit InMemoryDataset(Example all) : all_{all.input.contiguous(), all.target.contiguous()} {}

  int64_t size() const override { return all_.input.size(0); }
  absl::StatusOr<Example> Get(int64_t index) const override {
    return Example{all_.input.select(0, index), all_.target.select(0, index)};
  }
  const Example* InMemory() const override { return &all_; }

 private:
  const Example all_;
};

// The first row of `tensor` (float32) with a NaN or an infinite value, or -1.
int64_t FirstRowNotFinite(const at::Tensor& tensor) {
  // One pass finds out whether there is any: a sum keeps NaN and infinity, and a sum of float32 in double cannot
  // overflow.
  if (std::isfinite(at::sum(tensor, at::kDouble).item<double>())) return -1;
  const float* values = tensor.data_ptr<float>();
  int64_t i = 0;
  while (std::isfinite(values[i])) ++i;
  return i / (tensor.numel() / tensor.size(0));
}

absl::Status CheckTargets(const at::Tensor& target, const DataSplits& splits) {
  if (splits.task == Task::kClassification) {
    if (target.scalar_type() != at::kLong || target.dim() != 1) {
      return absl::InvalidArgumentError("targets of a classification are int64, one a sample");
    }
    const int64_t* classes = target.data_ptr<int64_t>();
    for (int64_t i = 0; i < target.size(0); ++i) {
      if (classes[i] < 0 || classes[i] >= splits.outputs) {
        return absl::InvalidArgumentError(absl::StrCat("sample ", i, " has class ", classes[i], ", but there are ",
                                                       splits.outputs, " classes, from 0"));
      }
    }
    return absl::OkStatus();
  }
  if (target.scalar_type() != at::kFloat || target.dim() != 2 || target.size(1) != splits.outputs) {
    return absl::InvalidArgumentError(
        absl::StrCat("targets of a regression are float32, ", splits.outputs, " a sample"));
  }
  if (const int64_t row = FirstRowNotFinite(target); row >= 0) {
    return absl::InvalidArgumentError(absl::StrCat("the target of sample ", row, " is NaN or infinite"));
  }
  return absl::OkStatus();
}

absl::Status CheckPart(const std::shared_ptr<const Dataset>& part, const DataSplits& splits) {
  if (part == nullptr || part->size() < 1) return absl::InvalidArgumentError("there are no samples");
  const Example* all = part->InMemory();
  if (all == nullptr) return absl::OkStatus();
  // Loaders copy rows [0, size()) of both tensors without further checks.
  const auto has_rows = [&](const at::Tensor& tensor) {
    return tensor.defined() && tensor.device().is_cpu() && tensor.is_contiguous() && tensor.dim() >= 1 &&
           tensor.size(0) == part->size();
  };
  if (!has_rows(all->input) || !has_rows(all->target) || all->input.scalar_type() != at::kFloat) {
    return absl::InvalidArgumentError(
        absl::StrCat("inputs in memory are contiguous float32 on the CPU, one for each of ", part->size(),
                     " samples, with one target each"));
  }
  if (all->input.sizes().slice(1) != c10::IntArrayRef(splits.input_shape)) {
    return absl::InvalidArgumentError(absl::StrCat("inputs have shape ", ShapeToString(all->input.sizes().slice(1)),
                                                   ", not ", ShapeToString(splits.input_shape), " as announced"));
  }
  if (const int64_t row = FirstRowNotFinite(all->input); row >= 0) {
    return absl::InvalidArgumentError(absl::StrCat("the input of sample ", row, " holds a NaN or an infinite value"));
  }
  return CheckTargets(all->target, splits);
}

std::string KindName(const v1::DatasetConfig& config) {
  if (config.has_custom()) return absl::StrCat("dataset '", config.custom().name(), "'");
  return absl::StrCat("dataset ", ChosenKind(config)->name());
}

}  // namespace

std::shared_ptr<const Dataset> MakeInMemoryDataset(Example all) {
  return std::make_shared<InMemoryDataset>(std::move(all));
}

absl::StatusOr<DataSplits> OpenDataset(const v1::DatasetConfig& config, uint64_t order_seed, std::optional<Task> task) {
  LANISTA_RETURN_IF_ERROR(CheckConfig(config, ""));
  LANISTA_ASSIGN_OR_RETURN(const std::unique_ptr<DataSplits> splits,
                           DatasetRegistry::Get().Create(config, DatasetRequest{order_seed, task}));
  if (splits->outputs < 1 || splits->input_shape.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(KindName(config), ": outputs and input_shape must be set"));
  }
  if (task.has_value() && splits->task != *task) {
    return absl::InvalidArgumentError(absl::StrCat(
        KindName(config), *task == Task::kRegression ? " predicts classes: use it with the classification evaluator"
                                                     : " predicts numbers: use it with the regression evaluator"));
  }
  LANISTA_RETURN_IF_ERROR(Annotate(CheckPart(splits->train, *splits), absl::StrCat(KindName(config), ", training")));
  LANISTA_RETURN_IF_ERROR(
      Annotate(CheckPart(splits->validation, *splits), absl::StrCat(KindName(config), ", validation")));
  return std::move(*splits);
}

}  // namespace lanista::data
