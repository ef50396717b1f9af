// Random search (Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012): every active choice is
// drawn uniformly.
#include <memory>
#include <optional>

#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

class RandomStrategy : public Strategy {
 public:
  RandomStrategy(const StrategyContext& context, bool dedup) : proposals_(context, dedup) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    return proposals_.Fill(count, [] { return std::nullopt; });
  }

  void Tell(const v1::Sample& sample, const Observation&) override {
    if (const auto model = proposals_.space().OptionsOf(sample); model.ok()) proposals_.Told(*model);
  }

  void Expect(const v1::Sample& sample) override {
    if (const auto model = proposals_.space().OptionsOf(sample); model.ok()) proposals_.Expect(*model);
  }

 private:
  Proposals proposals_;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeRandom(const v1::RandomConfig& config, const StrategyContext& context) {
  return std::make_unique<RandomStrategy>(context, config.has_dedup() ? config.dedup() : true);
}

LANISTA_REGISTER(StrategyRegistry, random, v1::RandomConfig, MakeRandom);

}  // namespace
}  // namespace lanista
