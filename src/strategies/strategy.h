// Strategies propose samples of a space and learn from outcomes. Plain objects: no actors, no clocks, no torch.
#ifndef LANISTA_SRC_STRATEGIES_STRATEGY_H_
#define LANISTA_SRC_STRATEGIES_STRATEGY_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "protos/experiment.pb.h"
#include "protos/space.pb.h"
#include "protos/trial.pb.h"
#include "src/base/custom.h"
#include "src/base/registry.h"
#include "src/space/space.h"

namespace lanista {

// How a proposed model fared.
struct Observation {
  // What became of it.
  v1::ModelEnded::Outcome outcome = v1::ModelEnded::OUTCOME_UNSPECIFIED;
  // The (first) objective's metric, turned so that larger is better; absent where the model failed, was canceled or was
  // not trained.
  std::optional<double> value;
  // Steps that it has reported.
  int steps = 0;
  // If the experiment has several objectives: the value of each, with a sign that makes larger values better; the first
  // is `value`. Empty if not all are known, because the model failed or was stopped early.
  std::vector<double> objectives;
  // How far the model is from the limits, summed over all limits; 0: it keeps all of them.
  double violation = 0;
};

// Whether a strategy can learn from the observation: it has a value, or it says how far the model is from the limits.
bool IsInformative(const Observation& observation);

// -1 if `a` is better than `b` by what counts before values: observations without information come last, then feasible
// before infeasible, smaller violation, SUCCEEDED before STOPPED_EARLY, and of those that were stopped more steps. 1 if
// it is worse, 0 if their values decide. Steps of models that ran to their end do not count: how many reports an
// evaluator makes says nothing about the model.
int CompareStanding(const Observation& a, const Observation& b);

// Whether `a` is better than `b`: by CompareStanding, then by the larger value. The one order for all strategies that
// learn from one objective.
bool Ranks(const Observation& a, const Observation& b);

// Whether a strategy with this setting learns from the observation: informative ones always, failures (not models that
// were canceled) with WORST.
bool LearnsFrom(const Observation& observation, v1::OnFailure::Action on_failure);

// What a strategy's factory gets. Only `space` must outlive the strategy.
struct StrategyContext {
  // The fields that have no default.
  StrategyContext(const Space& space_in, uint64_t seed_in) : space(space_in), seed(seed_in) {}

  // Space::IsPossible tells which models cannot be built: proposing one costs a trial that fails.
  const Space& space;
  // The only source of the strategy's random numbers.
  uint64_t seed;
  // How many models the strategy may propose, not counting those that turn out to be INFEASIBLE; nullopt: no limit.
  // This is the limit with which the experiment was created: if it is changed later, a replay must still give the same
  // samples.
  std::optional<int> max_models;
  // Number of objectives, at least 1.
  int objectives = 1;
  // How far a sample misses those limits that can be computed before training (Observation::violation); nullopt where
  // it is not known. Samples with more than 0 are never proposed. A pure function. Empty: there are no such limits.
  std::function<std::optional<double>(const v1::Sample&)> violation;
  // Describes for people how a sample breaks the limits: "flops 120000000 (at most 50000000)". Empty: there is no
  // description.
  std::function<std::string(const v1::Sample&)> describe_violation;
};

// The default size of a population: `usual`, or less if the experiment is limited to N models: N / 5, but at least 10.
int DefaultPopulation(const StrategyContext& context, int usual);

// Logs a warning if the experiment's models are not many more than the `models` that the strategy needs before it has
// learnt anything.
void WarnOfSmallBudget(const StrategyContext& context, absl::string_view strategy, int models);

// INVALID_ARGUMENT if there are several objectives; for factories of strategies that learn from one only.
absl::Status CheckOneObjective(const StrategyContext& context, absl::string_view strategy);

// Proposes models. Used by one thread at a time. Deterministic: the same calls in the same order give the same samples
// (resume replays them), all randomness comes from the seed handed to the factory.
class Strategy {
 public:
  virtual ~Strategy() = default;

  struct Proposal {
    // At most as many as asked for; fewer while the strategy waits for outcomes.
    std::vector<v1::Sample> samples;
    // No sample will come any more, whatever is told.
    bool exhausted = false;
    // There are no samples because the strategy is still searching, not because it waits for outcomes: ask it again at
    // once. It returns in between so that its caller can handle other messages.
    bool searching = false;
  };

  // Returns new samples. Does not wait for outcomes as long as it can propose anything sensible, because devices are
  // idle. REQUIRES: count >= 1.
  virtual absl::StatusOr<Proposal> Ask(int count) = 0;

  // Reports the outcome of a sample: exactly once for each sample that Ask returned or Expect announced, in any order.
  // Also reports models of an earlier experiment, for which there was no Ask.
  virtual void Tell(const v1::Sample& sample, const Observation& observation) = 0;

  // Another strategy (a stage of the same chain) has proposed the sample: its outcome will be told, so there is no need
  // to propose it here.
  virtual void Expect(const v1::Sample& /*sample*/) {}
};

// Factories take (config, context). The context's space outlives the strategy.
using StrategyRegistry = Registry<Strategy, v1::StrategyConfig, const StrategyContext&>;

namespace kinds {
// For LANISTA_REGISTER(strategy, "name", make), and `strategy { custom { name: "name" params { ... } } }`:
//
//   absl::StatusOr<std::unique_ptr<lanista::Strategy>> MakeMine(const lanista::Params& params,
//                                                               const lanista::StrategyContext& context);
//   LANISTA_REGISTER(strategy, "mine", MakeMine);
//
// Parameters that MakeMine misses or does not read are errors of the configuration.
struct strategy : CustomKind<StrategyRegistry> {};
}  // namespace kinds

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_STRATEGY_H_
