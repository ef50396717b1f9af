// evaluator { classification { ... } }: losses and metrics of classifiers.
#include <torch/nn/functional/loss.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/config/validate.h"
#include "src/evaluators/supervised.h"

namespace lanista {
namespace {

constexpr char kClassificationPath[] = "evaluator.classification";

// `accuracy` (also `default`) and `top<k>`: fractions of samples.
class ClassificationMeasure : public Measure {
 public:
  explicit ClassificationMeasure(std::vector<int64_t> top_k) : top_k_(std::move(top_k)), hits_(top_k_.size()) {}

  void Add(const at::Tensor& scores, const at::Tensor& target) override {
    samples_ += target.size(0);
    AddTo(correct_, scores.argmax(1).eq(target).sum());
    if (top_k_.empty()) return;
    const int64_t most = *std::max_element(top_k_.begin(), top_k_.end());
    // [N, most], best first: whether that guess is right.
    const at::Tensor right = std::get<1>(scores.topk(most, 1)).eq(target.unsqueeze(1));
    for (size_t i = 0; i < top_k_.size(); ++i) AddTo(hits_[i], right.narrow(1, 0, top_k_[i]).sum());
  }

  MetricMap Finish() const override {
    const auto fraction = [this](const at::Tensor& count) {
      return static_cast<double>(count.item<int64_t>()) / static_cast<double>(samples_);
    };
    const double accuracy = fraction(correct_);
    MetricMap metrics{{kDefaultMetric, accuracy}, {"accuracy", accuracy}};
    for (size_t i = 0; i < top_k_.size(); ++i) metrics[absl::StrCat("top", top_k_[i])] = fraction(hits_[i]);
    return metrics;
  }

 private:
  static void AddTo(at::Tensor& sum, const at::Tensor& count) { sum = sum.defined() ? sum + count : count; }

  const std::vector<int64_t> top_k_;
  int64_t samples_ = 0;
  at::Tensor correct_;
  std::vector<at::Tensor> hits_;
};

class ClassificationCriterion : public Criterion {
 public:
  ClassificationCriterion(const v1::ClassificationConfig& config, int64_t classes)
      : negative_log_likelihood_(config.loss() == v1::ClassificationConfig::NLL),
        label_smoothing_(config.label_smoothing()),
        top_k_(config.top_k().begin(), config.top_k().end()),
        classes_(classes) {}

  absl::StatusOr<at::Tensor> Scores(const at::Tensor& output, const at::Tensor& target) const override {
    if (output.dim() == 2 && output.size(0) == target.size(0) && output.size(1) == classes_) return output;
    return absl::InvalidArgumentError(absl::StrCat("the model returns [", absl::StrJoin(output.sizes(), ", "),
                                                   "], the dataset has ", classes_, " classes: it should return [",
                                                   target.size(0), ", ", classes_, "]"));
  }

  at::Tensor Loss(const at::Tensor& scores, const at::Tensor& target) const override {
    namespace F = torch::nn::functional;
    if (negative_log_likelihood_) return F::nll_loss(scores, target);
    return F::cross_entropy(scores, target, F::CrossEntropyFuncOptions().label_smoothing(label_smoothing_));
  }

  std::unique_ptr<Measure> NewMeasure() const override { return std::make_unique<ClassificationMeasure>(top_k_); }

 private:
  const bool negative_log_likelihood_;
  const double label_smoothing_;
  const std::vector<int64_t> top_k_;
  const int64_t classes_;
};

absl::StatusOr<std::unique_ptr<Criterion>> MakeCriterion(const v1::ClassificationConfig& config, int64_t classes) {
  if (classes < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(kClassificationPath, ".dataset: has a single class: there is nothing to tell apart"));
  }
  for (const int32_t k : config.top_k()) {
    if (k <= classes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(kClassificationPath, ".top_k: must be at most the number of classes, ", classes, ", got ", k));
  }
  return std::make_unique<ClassificationCriterion>(config, classes);
}

absl::StatusOr<std::unique_ptr<Evaluator>> MakeClassification(const v1::ClassificationConfig& config) {
  LANISTA_RETURN_IF_ERROR(CheckConfig(config, kClassificationPath));
  return std::make_unique<SupervisedEvaluator>(kClassificationPath, data::Task::kClassification,
                                               MakeTrainingOptions(config),
                                               [config](int64_t classes) { return MakeCriterion(config, classes); });
}

LANISTA_REGISTER_BUILT_IN(EvaluatorRegistry, classification, v1::ClassificationConfig, MakeClassification);

}  // namespace
}  // namespace lanista
