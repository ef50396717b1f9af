// Random search (Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012): every active choice is
// drawn uniformly.
#include <memory>
#include <optional>

#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

class RandomStrategy : public ProposingStrategy {
 public:
  RandomStrategy(const StrategyContext& context, bool dedup)
      : ProposingStrategy(context, dedup, v1::OnFailure::IGNORE) {}

 private:
  std::optional<Space::Options> Propose() override { return std::nullopt; }
  void Learn(const Space::Options&, const Observation&) override {}
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeRandom(const v1::RandomConfig& config, const StrategyContext& context) {
  return std::make_unique<RandomStrategy>(context, config.has_dedup() ? config.dedup() : true);
}

LANISTA_REGISTER_BUILT_IN(StrategyRegistry, random, v1::RandomConfig, MakeRandom);

}  // namespace
}  // namespace lanista
