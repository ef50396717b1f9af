// evaluator { regression { ... } }: losses and metrics of models that predict numbers.
#include <torch/nn/functional/loss.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "src/base/metric_names.h"
#include "src/base/status.h"
#include "src/config/validate.h"
#include "src/evaluators/supervised.h"

namespace lanista {
namespace {

constexpr char kRegressionPath[] = "evaluator.regression";

// `mse` and `mae` (means over samples and targets) and `r2` (the coefficient of determination, mean over targets; of a
// target that never changes it is 1 where the predictions are exact and 0 where they are not).
class RegressionMeasure : public Measure {
 public:
  explicit RegressionMeasure(v1::RegressionConfig::Metric metric) : metric_(metric) {}

  void Add(const at::Tensor& scores, const at::Tensor& target) override {
    const at::Tensor truth = target.to(at::kDouble);
    const at::Tensor error = scores.to(at::kDouble) - truth;
    if (samples_ == 0) {
      // Sums of squares about a value near the mean lose no digits.
      origin_ = truth.mean(0);
      squared_error_ = absolute_error_ = sum_ = squares_ = at::zeros_like(origin_);
    }
    const at::Tensor shifted = truth - origin_;
    samples_ += target.size(0);
    squared_error_ = squared_error_ + error.square().sum(0);
    absolute_error_ = absolute_error_ + error.abs().sum(0);
    sum_ = sum_ + shifted.sum(0);
    squares_ = squares_ + shifted.square().sum(0);
  }

  MetricMap Finish() const override {
    const auto count = static_cast<double>(samples_);
    const at::Tensor variation = squares_ - sum_.square() / count;
    const at::Tensor r2 =
        at::where(variation > 0, 1 - squared_error_ / variation, squared_error_.eq(0).to(at::kDouble));
    MetricMap metrics{{"mse", squared_error_.mean().item<double>() / count},
                      {"mae", absolute_error_.mean().item<double>() / count},
                      {"r2", r2.mean().item<double>()}};
    metrics[kDefaultMetric] = metrics.at(metric_ == v1::RegressionConfig::MEAN_SQUARED_ERROR    ? "mse"
                                         : metric_ == v1::RegressionConfig::MEAN_ABSOLUTE_ERROR ? "mae"
                                                                                                : "r2");
    return metrics;
  }

 private:
  const v1::RegressionConfig::Metric metric_;
  int64_t samples_ = 0;
  // All double, [targets].
  at::Tensor origin_;
  at::Tensor squared_error_;
  at::Tensor absolute_error_;
  at::Tensor sum_;
  at::Tensor squares_;
};

class RegressionCriterion : public Criterion {
 public:
  explicit RegressionCriterion(const v1::RegressionConfig& config)
      : loss_(config.loss()), metric_(config.default_metric()) {}

  absl::StatusOr<at::Tensor> Scores(const at::Tensor& output, const at::Tensor& target) const override {
    if (output.sizes() == target.sizes()) return output;
    if (output.dim() == 1 && target.size(1) == 1 && output.size(0) == target.size(0)) return output.unsqueeze(1);
    return absl::InvalidArgumentError(
        absl::StrCat("the model returns [", absl::StrJoin(output.sizes(), ", "), "], the dataset has ", target.size(1),
                     " targets: it should return [", absl::StrJoin(target.sizes(), ", "), "]"));
  }

  at::Tensor Loss(const at::Tensor& scores, const at::Tensor& target) const override {
    namespace F = torch::nn::functional;
    if (loss_ == v1::RegressionConfig::L1) return F::l1_loss(scores, target);
    if (loss_ == v1::RegressionConfig::HUBER) return F::huber_loss(scores, target);
    return F::mse_loss(scores, target);
  }

  std::unique_ptr<Measure> NewMeasure() const override { return std::make_unique<RegressionMeasure>(metric_); }

 private:
  const v1::RegressionConfig::Loss loss_;
  const v1::RegressionConfig::Metric metric_;
};

absl::StatusOr<std::unique_ptr<Criterion>> MakeCriterion(const v1::RegressionConfig& config) {
  return std::make_unique<RegressionCriterion>(config);
}

absl::StatusOr<std::unique_ptr<Evaluator>> MakeRegression(const v1::RegressionConfig& config) {
  LANISTA_RETURN_IF_ERROR(CheckConfig(config, kRegressionPath));
  return std::make_unique<SupervisedEvaluator>(kRegressionPath, data::Task::kRegression, MakeTrainingOptions(config),
                                               [config](int64_t) { return MakeCriterion(config); });
}

LANISTA_REGISTER_BUILT_IN(EvaluatorRegistry, regression, v1::RegressionConfig, MakeRegression);

}  // namespace
}  // namespace lanista
