// The median stopping rule (Golovin, Solnik, Moitra, Kochanski, Karro and Sculley, "Google Vizier: A Service for
// Black-Box Optimization", 2017): a model stops at a step if its best value so far is worse than the median of the
// means, up to that step, of models that ran to their end.
#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/display_text.h"
#include "src/stopping/stopper.h"

namespace lanista {
namespace {

class Median : public Stopper {
 public:
  struct Options {
    int startup = 5;
    int warmup_steps = 0;
    int interval = 1;
  };

  Median(const StoppingContext& context, const Options& options) : context_(context), options_(options) {}

  Verdict Report(int model, int step, double value) override {
    Curve& curve = running_[model];
    curve.best = std::max(curve.best, value);
    curve.sum += value;
    curve.means.push_back(curve.sum / step);
    const int decided_steps = step - options_.warmup_steps;
    if (finished_ < options_.startup || decided_steps < 1 || decided_steps % options_.interval != 0) return {};
    if (context_.max_steps.has_value() && step >= *context_.max_steps) return {};
    // Perhaps no model has come so far yet.
    if (static_cast<size_t>(step) > means_.size()) return {};
    const std::vector<double>& means = means_[static_cast<size_t>(step) - 1];
    const double median = (means[(means.size() - 1) / 2] + means[means.size() / 2]) / 2;
    if (curve.best >= median) return {};
    return {true, absl::StrCat(context_.ValueText(curve.best), " at best, worse than ", context_.ValueText(median),
                               ", the median of ", Counted(static_cast<int64_t>(means.size()), "model"))};
  }

  void Ended(int model, const Observation& observation) override {
    const auto found = running_.find(model);
    if (observation.outcome == v1::ModelEnded::SUCCEEDED) {
      ++finished_;
      if (found != running_.end()) Add(found->second.means);
    }
    if (found != running_.end()) running_.erase(found);
  }

 private:
  struct Curve {
    double best = -std::numeric_limits<double>::infinity();
    double sum = 0;
    // The means of the values up to each step.
    std::vector<double> means;
  };

  void Add(const std::vector<double>& curve) {
    if (curve.size() > means_.size()) means_.resize(curve.size());
    for (size_t i = 0; i < curve.size(); ++i) {
      means_[i].insert(std::upper_bound(means_[i].begin(), means_[i].end(), curve[i]), curve[i]);
    }
  }

  const StoppingContext context_;
  const Options options_;
  std::map<int, Curve> running_;
  // The number of models that ran to their end.
  int finished_ = 0;
  // For each step, from 1 on, the sorted means of the models that came so far.
  std::vector<std::vector<double>> means_;
};

absl::StatusOr<std::unique_ptr<Stopper>> MakeMedian(const v1::MedianConfig& config, const StoppingContext& context) {
  Median::Options options;
  if (config.has_startup()) options.startup = config.startup();
  if (config.has_warmup_steps()) options.warmup_steps = config.warmup_steps();
  if (config.has_interval()) options.interval = config.interval();
  return std::make_unique<Median>(context, options);
}

LANISTA_REGISTER_BUILT_IN(StopperRegistry, median, v1::MedianConfig, MakeMedian);

}  // namespace
}  // namespace lanista
