// Tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kégl, "Algorithms for Hyper-Parameter Optimization",
// 2011), with the joint density of BOHB (Falkner, Klein and Hutter, 2018) and the defaults that Watanabe,
// "Tree-Structured Parzen Estimator", 2023, describes: of several models drawn from the density of the good models, it
// proposes the one whose density among the good ones is largest beside that among the bad ones.
//
// Running models count as bad, so that models that run at the same time differ from each other.
#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "src/strategies/parzen.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

class Tpe : public ProposingStrategy {
 public:
  struct Options {
    int startup = 10;
    int candidates = 24;
    double good_fraction = 0.1;
    int good_max = 25;
    double prior_weight = 1;
    bool multivariate = true;
    bool dedup = true;
    v1::OnFailure::Action on_failure = v1::OnFailure::IGNORE;
  };

  Tpe(const StrategyContext& context, const Options& options)
      : ProposingStrategy(context, options.dedup, options.on_failure), options_(options), bad_(MakeDensity()) {}

 private:
  // If most candidates are known, up to this many are drawn for each new one.
  static constexpr int kDraws = 4;

  struct Told {
    Space::Options model;
    Observation observation;
  };

  // The sets of good and of running models have changed.
  void Ended() override { good_ = nullptr; }

  void Learn(const Space::Options& model, const Observation& observation) override {
    // It goes after those that it does not outrank: of equal models the earlier one is better.
    const auto place = std::upper_bound(ranking_.begin(), ranking_.end(), observation,
                                        [this](const Observation& a, int b) { return Ranks(a, told_[b].observation); });
    ranking_.insert(place, static_cast<int>(told_.size()));
    told_.push_back({model, observation});
  }

  // The best of the candidates; nullopt where a model should be drawn at random.
  std::optional<Space::Options> Propose() override {
    if (static_cast<int>(told_.size()) < options_.startup) return std::nullopt;
    UpdateDensities();
    std::vector<Space::Options> candidates;
    for (int i = 0; i < kDraws * options_.candidates; ++i) {
      Space::Options model = good_->Draw(proposals().random());
      if (!proposals().space().IsPossible(model)) continue;
      if (options_.dedup && proposals().Known(model)) continue;
      candidates.push_back(std::move(model));
      if (static_cast<int>(candidates.size()) == options_.candidates) break;
    }
    const std::vector<double> good = good_->Log(candidates);
    const std::vector<double> bad = bad_->Log(candidates);
    std::vector<int> order(candidates.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return good[a] - bad[a] > good[b] - bad[b]; });
    for (const int number : order) {
      if (proposals().Take(candidates[number])) return candidates[number];
    }
    return std::nullopt;
  }

  void UpdateDensities() {
    if (good_ == nullptr) {
      good_ = MakeDensity();
      bad_->Truncate(bad_told_);
      for (; bad_told_ < told_.size(); ++bad_told_) bad_->Add(told_[bad_told_].model);
      for (const int number : good_numbers_) bad_->SetCounts(number, true);
      const int count = static_cast<int>(std::ceil(options_.good_fraction * static_cast<double>(ranking_.size())));
      good_numbers_.assign(ranking_.begin(), ranking_.begin() + std::min(count, options_.good_max));
      for (const int number : good_numbers_) {
        good_->Add(told_[number].model);
        bad_->SetCounts(number, false);
      }
      bad_running_ = 0;
    }
    // Since the last outcome, models were only added at the end.
    const std::vector<Space::Options>& running = proposals().running();
    for (; bad_running_ < running.size(); ++bad_running_) bad_->Add(running[bad_running_]);
  }

  std::unique_ptr<Density> MakeDensity() const {
    if (options_.multivariate) return std::make_unique<JointDensity>(proposals().space(), options_.prior_weight);
    return std::make_unique<IndependentDensity>(proposals().space(), options_.prior_weight);
  }

  const Options options_;
  std::vector<Told> told_;
  // Indices into told_, the best model first.
  std::vector<int> ranking_;
  // The density of the good models. Null after an outcome, which may have changed them.
  std::unique_ptr<Density> good_;
  // The indices of the good models in told_.
  std::vector<int> good_numbers_;
  // The density of all other models: the first bad_told_ models of told_, where the good ones do not count, then the
  // first bad_running_ of the running models. It is kept between proposals because filling it takes long.
  std::unique_ptr<Density> bad_;
  size_t bad_told_ = 0;
  size_t bad_running_ = 0;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeTpe(const v1::TpeConfig& config, const StrategyContext& context) {
  if (const absl::Status one = CheckOneObjective(context, "tpe"); !one.ok()) return one;
  Tpe::Options options;
  if (config.has_startup()) options.startup = config.startup();
  if (config.has_candidates()) options.candidates = config.candidates();
  if (config.has_good_fraction()) options.good_fraction = config.good_fraction();
  if (config.has_good_max()) options.good_max = config.good_max();
  if (config.has_prior_weight()) options.prior_weight = config.prior_weight();
  if (config.has_multivariate()) options.multivariate = config.multivariate();
  if (config.has_dedup()) options.dedup = config.dedup();
  options.on_failure = config.on_failure();
  WarnOfSmallBudget(context, "tpe", options.startup);
  return std::make_unique<Tpe>(context, options);
}

LANISTA_REGISTER_BUILT_IN(StrategyRegistry, tpe, v1::TpeConfig, MakeTpe);

}  // namespace
}  // namespace lanista
