// Random search (Bergstra and Bengio, "Random search for hyper-parameter optimization", 2012): every active choice is
// drawn uniformly.
#include <memory>
#include <optional>
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
    // Nearly all that is likely was seen. Walk from the last draw, around the end, to the next new sample; the next
    // time on from there: all that lies between was seen, so that all walks together pass each sample of the space
    // once.
    if (!walk_.has_value()) {
      walk_ = std::move(sample);
      walk_end_ = Space::Key(*walk_);
    }
    while (true) {
      std::optional<v1::Sample> next = space_.Next(*walk_);
      walk_ = next.has_value() ? *std::move(next) : space_.First();
      if (Space::Key(*walk_) == walk_end_) return std::nullopt;
      if (IsNew(*walk_)) return walk_;
    }
  }

  bool IsNew(const v1::Sample& sample) { return seen_.insert(Space::Key(sample)).second; }

  const bool dedup_;
  const Space& space_;
  std::mt19937_64 random_;
  // Keys of all proposed samples.
  absl::flat_hash_set<std::string> seen_;
  // Where the walk through the space stands, and the key of the sample that it began at.
  std::optional<v1::Sample> walk_;
  std::string walk_end_;
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
