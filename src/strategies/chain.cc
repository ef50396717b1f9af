// Runs strategies one after the other: a stage proposes its number of models, then the next stage begins. All stages
// are told all outcomes and all models that the others propose, so that no stage repeats a model of another one.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/field_rules.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

class Chain : public Strategy {
 public:
  struct Stage {
    std::unique_ptr<Strategy> strategy;
    // Models that it may still propose; absent: no limit.
    std::optional<int> models_left;
  };

  // REQUIRES: there are stages.
  explicit Chain(std::vector<Stage> stages) : stages_(std::move(stages)) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal all;
    while (current_ < stages_.size() && static_cast<int>(all.samples.size()) < count) {
      Stage& stage = stages_[current_];
      int wanted = count - static_cast<int>(all.samples.size());
      if (stage.models_left.has_value()) wanted = std::min(wanted, *stage.models_left);
      LANISTA_ASSIGN_OR_RETURN(Proposal proposal, stage.strategy->Ask(wanted));
      const int proposed = static_cast<int>(proposal.samples.size());
      for (v1::Sample& sample : proposal.samples) {
        for (size_t other = 0; other < stages_.size(); ++other) {
          if (other != current_) stages_[other].strategy->Expect(sample);
        }
        all.samples.push_back(std::move(sample));
      }
      if (stage.models_left.has_value()) *stage.models_left -= proposed;
      if (proposal.exhausted || stage.models_left == 0) {
        ++current_;
      } else if (proposed < wanted) {
        // The stage waits for outcomes, or is to be asked again.
        all.searching = proposal.searching && all.samples.empty();
        break;
      }
    }
    all.exhausted = current_ == stages_.size();
    return all;
  }

  void Tell(const v1::Sample& sample, const Observation& observation) override {
    for (const Stage& stage : stages_) stage.strategy->Tell(sample, observation);
  }

  void Expect(const v1::Sample& sample) override {
    for (const Stage& stage : stages_) stage.strategy->Expect(sample);
  }

 private:
  std::vector<Stage> stages_;
  // The index of the current stage; the number of stages when all have ended.
  size_t current_ = 0;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeChain(const v1::ChainConfig& config, const StrategyContext& context) {
  if (config.stage().empty()) return absl::InvalidArgumentError("chain has no stage; give at least one");
  std::vector<Chain::Stage> stages;
  StrategyContext stage_context = context;
  // The part of the limit that earlier stages leave.
  std::optional<int> left = context.max_models;
  for (int i = 0; i < config.stage_size(); ++i) {
    const v1::ChainStageConfig& stage = config.stage(i);
    std::optional<int> models;
    if (stage.has_models()) models = stage.models();
    stage_context.max_models = models.has_value() ? models : left;
    if (models.has_value() && left.has_value()) stage_context.max_models = std::min(*models, *left);
    if (left.has_value() && models.has_value()) *left = std::max(0, *left - *models);
    stage_context.seed = MixSeed({context.seed, static_cast<uint64_t>(i)});
    auto strategy = StrategyRegistry::Get().Create(stage.strategy(), stage_context);
    if (!strategy.ok()) return Annotate(strategy.status(), absl::StrCat("chain.stage[", i, "].strategy"));
    stages.push_back({*std::move(strategy), models});
  }
  return std::make_unique<Chain>(std::move(stages));
}

std::optional<Violation> CheckChain(const v1::ChainConfig& chain, const std::string& path) {
  for (int i = 0; i + 1 < chain.stage_size(); ++i) {
    if (chain.stage(i).has_models()) continue;
    return Violation{absl::StrCat(JoinPath(path, "stage"), "[", i, "].models"),
                     "is required: only the last stage may leave it out, the next stages would never get their turn"};
  }
  return std::nullopt;
}

LANISTA_REGISTER_CHECK(v1::ChainConfig, CheckChain);
LANISTA_REGISTER_BUILT_IN(StrategyRegistry, chain, v1::ChainConfig, MakeChain);

}  // namespace
}  // namespace lanista
