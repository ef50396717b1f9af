// Asynchronous successive halving, the variant that stops models instead of pausing them (Li, Jamieson, Rostamizadeh,
// Gonina, Ben-tzur, Hardt, Recht and Talwalkar, "A System for Massively Parallel Hyperparameter Tuning", 2020).
//
// No model waits for others: the first models that reach a rung are compared with few others, and go on more easily
// than later ones.
#include <memory>

#include "absl/strings/str_cat.h"
#include "src/stopping/rungs.h"
#include "src/stopping/stopper.h"

namespace lanista {
namespace {

class Asha : public Stopper {
 public:
  Asha(const StoppingContext& context, int min_steps, int reduction_factor)
      : context_(context), rungs_(min_steps, reduction_factor, context.max_steps) {}

  Verdict Report(int /*model*/, int step, double value) override {
    const std::optional<Rungs::Place> place = rungs_.Reach(step, value);
    if (!place.has_value() || place->goes_on) return {};
    return {true,
            absl::StrCat(context_.ValueText(value), ", not among the best ", place->best, " of ", place->reached)};
  }

 private:
  const StoppingContext context_;
  Rungs rungs_;
};

absl::StatusOr<std::unique_ptr<Stopper>> MakeAsha(const v1::AshaConfig& config, const StoppingContext& context) {
  return std::make_unique<Asha>(context, config.has_min_steps() ? config.min_steps() : 1,
                                config.has_reduction_factor() ? config.reduction_factor() : 4);
}

LANISTA_REGISTER_BUILT_IN(StopperRegistry, asha, v1::AshaConfig, MakeAsha);

}  // namespace
}  // namespace lanista
