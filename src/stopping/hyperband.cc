// Hyperband (Li, Jamieson, DeSalvo, Rostamizadeh and Talwalkar, "Hyperband: A Novel Bandit-Based Approach to
// Hyperparameter Optimization", 2018). It has several brackets of successive halving, from one that stops many models
// early to one that stops none, because it is not known how much early values tell. Within a bracket no model waits for
// others, as in ASHA (Li et al., 2020).
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/component.h"
#include "src/base/field_rules.h"
#include "src/stopping/brackets.h"
#include "src/stopping/rungs.h"
#include "src/stopping/stopper.h"

namespace lanista {
namespace {

class Hyperband : public Stopper {
 public:
  Hyperband(const StoppingContext& context, const std::vector<Bracket>& brackets, int max_steps, int factor)
      : context_(context), dealer_(brackets) {
    for (const Bracket& bracket : brackets) {
      std::optional<Rungs>& rungs = rungs_.emplace_back();
      // The last rung is one factor before the end, as in the paper: a later one would save little.
      if (bracket.first_rung.has_value()) rungs.emplace(*bracket.first_rung, factor, max_steps / factor + 1);
    }
  }

  Verdict Report(int model, int step, double value) override {
    std::optional<Rungs>& rungs = rungs_[static_cast<size_t>(dealer_.BracketOf(model))];
    if (!rungs.has_value()) return {};
    const std::optional<Rungs::Place> place = rungs->Reach(step, value);
    if (!place.has_value() || place->goes_on) return {};
    return {true, absl::StrCat(context_.ValueText(value), ", not among the best ", place->best, " of ", place->reached,
                               " of its bracket")};
  }

 private:
  const StoppingContext context_;
  BracketDealer dealer_;
  // The rungs of each bracket; nullopt: the bracket stops no model.
  std::vector<std::optional<Rungs>> rungs_;
};

absl::StatusOr<std::unique_ptr<Stopper>> MakeHyperband(const v1::HyperbandConfig& config,
                                                       const StoppingContext& context) {
  const int min_steps = config.has_min_steps() ? config.min_steps() : 1;
  const int max_steps = config.has_max_steps() ? config.max_steps() : context.max_steps.value_or(0);
  const int factor = config.has_reduction_factor() ? config.reduction_factor() : 3;
  if (max_steps < min_steps) {
    return absl::InvalidArgumentError(
        "hyperband needs max_steps, the steps of a model that runs to its end, at least min_steps");
  }
  return std::make_unique<Hyperband>(context, MakeBrackets(min_steps, max_steps, factor), max_steps, factor);
}

std::optional<Violation> CheckHyperband(const v1::HyperbandConfig& hyperband, const std::string& path) {
  const int min_steps = hyperband.has_min_steps() ? hyperband.min_steps() : 1;
  if (!hyperband.has_max_steps() || hyperband.max_steps() >= min_steps) return std::nullopt;
  return Violation{JoinPath(path, "max_steps"),
                   absl::StrCat("must be at least 'min_steps', which is ", min_steps, ", got ", hyperband.max_steps())};
}

// How often the models report has to be known, from the stopper or from the evaluator.
std::optional<Violation> CheckStepsOfModels(const v1::ExperimentConfig& config, const std::string& path) {
  const v1::HyperbandConfig& hyperband = config.early_stopping().hyperband();
  if (!config.early_stopping().has_hyperband() || hyperband.has_max_steps()) return std::nullopt;
  const std::string hyperband_path = JoinPath(path, "early_stopping.hyperband");
  const std::optional<int64_t> steps = NumberOfComponent(config.evaluator(), v1::FieldRules::STEPS);
  if (!steps.has_value()) {
    return Violation{JoinPath(hyperband_path, "max_steps"),
                     "is required with this evaluator: how often a model reports that runs to its end"};
  }
  if (hyperband.min_steps() <= *steps) return std::nullopt;
  return Violation{
      JoinPath(hyperband_path, "min_steps"),
      absl::StrCat("must be at most the evaluator's max_epochs, which is ", *steps, ", got ", hyperband.min_steps())};
}

LANISTA_REGISTER_CHECK(v1::HyperbandConfig, CheckHyperband);
LANISTA_REGISTER_CHECK(v1::ExperimentConfig, CheckStepsOfModels);
LANISTA_REGISTER_BUILT_IN(StopperRegistry, hyperband, v1::HyperbandConfig, MakeHyperband);

}  // namespace
}  // namespace lanista
