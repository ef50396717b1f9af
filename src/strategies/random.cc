// Random search (Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012): every active choice is
// drawn uniformly.
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

// Of an incomplete space it knows what discovery saw: with `dedup` it ends when every such sample was proposed.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(bool dedup, const Space& space, uint64_t seed) : dedup_(dedup), space_(space), random_(seed) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    while (static_cast<int>(proposal.samples.size()) < count && !exhausted_) {
      std::optional<v1::Sample> sample = dedup_ ? DrawNew() : space_.Random(random_);
      if (sample.has_value()) {
        proposal.samples.push_back(*std::move(sample));
      } else {
        exhausted_ = true;
      }
    }
    // Known before it is tried where the space is counted.
    exhausted_ = exhausted_ || (dedup_ && space_.size().has_value() && *space_.size() == seen_.size());
    proposal.exhausted = exhausted_;
    return proposal;
  }

  void Tell(const v1::Sample&, const Observation&) override {}

 private:
  // Draws that may meet seen samples before the rest of the space is searched.
  static constexpr int kDraws = 64;

  // A sample that was not proposed before; nullopt if there is none.
  std::optional<v1::Sample> DrawNew() {
    v1::Sample sample;
    for (int i = 0; i < kDraws; ++i) {
      sample = space_.Random(random_);
      if (IsNew(sample)) return sample;
    }
    // Nearly all that is likely was seen. Walk on from the last draw, around the end, to the next new sample: each step
    // passes a sample that was seen, so this is bounded by their number.
    const std::string start = Space::Key(sample);
    do {
      std::optional<v1::Sample> next = space_.Next(sample);
      sample = next.has_value() ? *std::move(next) : space_.First();
      if (IsNew(sample)) return sample;
    } while (Space::Key(sample) != start);
    return std::nullopt;
  }

  bool IsNew(const v1::Sample& sample) { return seen_.insert(Space::Key(sample)).second; }

  const bool dedup_;
  const Space& space_;
  std::mt19937_64 random_;
  // Keys of all proposed samples.
  absl::flat_hash_set<std::string> seen_;
  bool exhausted_ = false;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeRandom(const v1::RandomConfig& config, const Space& space,
                                                     uint64_t seed) {
  const bool dedup = config.has_dedup() ? config.dedup() : true;
  return std::make_unique<RandomStrategy>(dedup, space, seed);
}

LANISTA_REGISTER(StrategyRegistry, random, v1::RandomConfig, MakeRandom);

}  // namespace
}  // namespace lanista
