// Stoppers decide after each step of a model whether it trains on. Plain objects: no actors, no clocks, no random
// numbers.
#ifndef LANISTA_SRC_STOPPING_STOPPER_H_
#define LANISTA_SRC_STOPPING_STOPPER_H_

#include <optional>
#include <string>

#include "protos/experiment.pb.h"
#include "src/base/custom.h"
#include "src/base/registry.h"
#include "src/strategies/strategy.h"

namespace lanista {

// What a stopper's factory gets.
struct StoppingContext {
  // The number of steps of a model that runs to its end; nullopt: not known. Stopping a model at its last step saves
  // nothing.
  std::optional<int> max_steps;
  // The objective, by which the sign of values was chosen; see ValueText.
  v1::ObjectiveConfig::Goal objective = v1::ObjectiveConfig::MAXIMIZE;

  // A value that a stopper was told, with the sign that the user knows.
  std::string ValueText(double value) const;
};

// Used by one thread at a time. Deterministic: the same calls in the same order give the same verdicts (resume replays
// them).
class Stopper {
 public:
  virtual ~Stopper() = default;

  struct Verdict {
    bool stop = false;
    // Why the model stops, for people: "0.81, not among the best 4 of 17". Does not name the step, which is recorded
    // separately.
    std::string because;
  };

  // A model has reported `default`; `value` has a sign that makes larger values better. Called once for each step of a
  // model, from 1 on without gaps, until a verdict stops it. Steps of different models come in any order.
  virtual Verdict Report(int model, int step, double value) = 0;

  // The model has its outcome, perhaps because of a verdict. Called once, after its last Report. The observation has no
  // other objectives and no limits, because only strategies use them.
  virtual void Ended(int /*model*/, const Observation& /*observation*/) {}
};

// Factories take (config, context).
using StopperRegistry = Registry<Stopper, v1::EarlyStoppingConfig, const StoppingContext&>;

namespace kinds {
// For LANISTA_REGISTER(stopper, "name", make), and `early_stopping { custom { name: "name" params { ... } } }`:
//
//   absl::StatusOr<std::unique_ptr<lanista::Stopper>> MakeMine(const lanista::Params& params,
//                                                              const lanista::StoppingContext& context);
//   LANISTA_REGISTER(stopper, "mine", MakeMine);
//
// Parameters that MakeMine misses or does not read are errors of the configuration.
struct stopper : CustomKind<StopperRegistry> {};
}  // namespace kinds

}  // namespace lanista

#endif  // LANISTA_SRC_STOPPING_STOPPER_H_
