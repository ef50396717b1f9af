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

// What a stopper is made for.
struct StoppingContext {
  // Steps of a model that runs to its end; nullopt: not known. A model that has come so far is not worth stopping.
  std::optional<int> max_steps;
  // What values were turned by; see ValueText.
  v1::Objective objective = v1::MAXIMIZE;

  // A value that a stopper was told of, as the user knows it: not turned.
  std::string ValueText(double value) const;
};

// Used by one thread at a time. Deterministic: the same calls in the same order give the same verdicts (resume replays
// them).
class Stopper {
 public:
  virtual ~Stopper() = default;

  struct Verdict {
    bool stop = false;
    // For people, where it stops: "0.81, not among the best 4 of 17". The step is kept apart.
    std::string because;
  };

  // A model reported `default`, turned so that larger is better. Called once for each step of a model, from 1 on
  // without gaps, until a verdict stops it. Steps of different models come in any order.
  virtual Verdict Report(int model, int step, double value) = 0;

  // The model has its outcome, which it may have because of a verdict: called once, after its last Report.
  // Other objectives and limits are the strategy's matter: the observation has neither.
  virtual void Ended(int /*model*/, const Observation& /*observation*/) {}
};

// Factories take (config, context).
using StopperRegistry = Registry<Stopper, const StoppingContext&>;

}  // namespace lanista

// Registers a stopper of the user's own, for `early_stopping { custom { name: "NAME" params { ... } } }`:
//
//   absl::StatusOr<std::unique_ptr<lanista::Stopper>> MakeMine(const lanista::Params& params,
//                                                              const lanista::StoppingContext& context);
//   LANISTA_REGISTER_STOPPER("mine", MakeMine);
//
// Parameters that MakeMine misses or does not read are errors of the configuration.
#define LANISTA_REGISTER_STOPPER(name, make) \
  LANISTA_REGISTER_WITH_PARAMS(::lanista::StopperRegistry, "stopper", name, make)

#endif  // LANISTA_SRC_STOPPING_STOPPER_H_
