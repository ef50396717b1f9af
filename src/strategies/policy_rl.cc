// Search by reinforcement learning (Zoph and Le, "Neural Architecture Search with Reinforcement Learning", 2017) with
// proximal policy optimization (Schulman, Wolski, Dhariwal, Radford and Klimov, "Proximal Policy Optimization
// Algorithms", 2017). The policy has a logit for each option instead of their recurrent network: a few hundred models
// teach it enough.
//
// The advantage of a model is its rank among the outcomes of the update, and not its value: so models that miss the
// limits, were stopped early or failed have a place, too, and one extreme value cannot outweigh all others.
#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/strategies/policy.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

class PolicyRl : public ProposingStrategy {
 public:
  struct Options {
    int models_per_update = 20;
    double learning_rate = 0.03;
    double clip = 0.2;
    int epochs = 5;
    double entropy_weight = 0.01;
    bool dedup = true;
    v1::OnFailure::Action on_failure = v1::OnFailure::IGNORE;
  };

  PolicyRl(const StrategyContext& context, const Options& options)
      : ProposingStrategy(context, options.dedup, options.on_failure),
        options_(options),
        policy_(context.space),
        optimizer_(policy_.logits().size(), options.learning_rate) {}

 private:
  // After this many models in a row that may not be proposed, one is drawn at random: the policy has converged.
  static constexpr int kKnownInARow = 20;
  // A model is ranked among at least this many outcomes.
  static constexpr int kRanked = 20;

  struct Outcome {
    Space::Options model;
    Observation observation;
  };

  void Learn(const Space::Options& model, const Observation& observation) override {
    known_.insert_or_assign(model, observation);
    LearnAgain(model, observation);
  }

  // A new model drawn from the policy; nullopt if one should be drawn at random.
  std::optional<Space::Options> Propose() override {
    for (int i = 0; i < kKnownInARow; ++i) {
      Space::Options model = policy_.Draw(proposals().random());
      if (proposals().Take(model)) return model;
      // The policy learns from it as if it had run again.
      if (const auto known = known_.find(model); known != known_.end()) LearnAgain(model, Observation(known->second));
    }
    return std::nullopt;
  }

  // Called each time that the policy draws a known model.
  void LearnAgain(const Space::Options& model, const Observation& observation) {
    recent_.push_back({model, observation});
    const int ranked = std::max(options_.models_per_update, kRanked);
    if (static_cast<int>(recent_.size()) > ranked) recent_.pop_front();
    if (++new_outcomes_ < options_.models_per_update) return;
    new_outcomes_ = 0;
    Update();
  }

  // Improves the policy by the last models_per_update outcomes.
  void Update() {
    const std::vector<double> advantages = Advantages();
    std::vector<Policy::Lesson> lessons;
    for (size_t i = recent_.size() - static_cast<size_t>(options_.models_per_update); i < recent_.size(); ++i) {
      const Space::Options& model = recent_[i].model;
      lessons.push_back({model, policy_.LogProbability(model), advantages[i]});
    }
    std::vector<double> gradient;
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      policy_.Objective(lessons, options_.clip, options_.entropy_weight, &gradient);
      optimizer_.Step(gradient, &policy_.logits());
    }
  }

  // The rank of each recent outcome, scaled to mean 0 and variance 1. Equal outcomes get their mean rank; if all are
  // equal, all advantages are 0.
  std::vector<double> Advantages() const {
    std::vector<size_t> order(recent_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto worse = [this](size_t a, size_t b) { return Ranks(recent_[b].observation, recent_[a].observation); };
    std::stable_sort(order.begin(), order.end(), worse);
    std::vector<double> advantages(recent_.size());
    const double middle = static_cast<double>(recent_.size() - 1) / 2;
    double squares = 0;
    for (size_t first = 0, end = 0; first < order.size(); first = end) {
      while (end < order.size() && !worse(order[first], order[end])) ++end;
      const double rank = static_cast<double>(first + end - 1) / 2 - middle;
      for (size_t i = first; i < end; ++i) advantages[order[i]] = rank;
      squares += static_cast<double>(end - first) * rank * rank;
    }
    if (squares == 0) return advantages;
    const double deviation = std::sqrt(squares / static_cast<double>(recent_.size()));
    for (double& advantage : advantages) advantage /= deviation;
    return advantages;
  }

  const Options options_;
  Policy policy_;
  AdamAscent optimizer_;
  // The outcomes of all models that were told: with dedup they do not run again.
  absl::flat_hash_map<Space::Options, Observation> known_;
  // The last outcomes, and how many of them came since the last update.
  std::deque<Outcome> recent_;
  int new_outcomes_ = 0;
};

// 800 MB with the optimizer's two numbers for each.
constexpr size_t kMostLogits = 10'000'000;

absl::StatusOr<std::unique_ptr<Strategy>> MakePolicyRl(const v1::PolicyRlConfig& config,
                                                       const StrategyContext& context) {
  if (const absl::Status one = CheckOneObjective(context, "policy_rl"); !one.ok()) return one;
  if (const size_t logits = Policy::CountLogits(context.space); logits > kMostLogits) {
    return absl::FailedPreconditionError(
        absl::StrCat("policy_rl keeps a number for each option of each choice, and this space has ", logits,
                     " of them; at most ", kMostLogits, ": use evolution or tpe"));
  }
  PolicyRl::Options options;
  if (config.has_models_per_update()) options.models_per_update = config.models_per_update();
  if (config.has_learning_rate()) options.learning_rate = config.learning_rate();
  if (config.has_clip()) options.clip = config.clip();
  if (config.has_epochs()) options.epochs = config.epochs();
  if (config.has_entropy_weight()) options.entropy_weight = config.entropy_weight();
  if (config.has_dedup()) options.dedup = config.dedup();
  options.on_failure = config.on_failure();
  // A few updates move the policy hardly at all.
  WarnOfSmallBudget(context, "policy_rl", 5 * options.models_per_update);
  return std::make_unique<PolicyRl>(context, options);
}

LANISTA_REGISTER_BUILT_IN(StrategyRegistry, policy_rl, v1::PolicyRlConfig, MakePolicyRl);

}  // namespace
}  // namespace lanista
