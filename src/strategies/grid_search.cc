// Grid search: every model of the space once, in its order or shuffled, one at a time: no list of models is ever made.
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "src/base/hash.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

// Walks in lexicographic order. Needs no size: of an incomplete space it visits every sample that discovery knows of.
class GridSearch : public Strategy {
 public:
  explicit GridSearch(const Space& space) : space_(space), next_(space.First()) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    while (static_cast<int>(proposal.samples.size()) < count && next_.has_value()) {
      proposal.samples.push_back(*std::move(next_));
      next_ = space_.Next(proposal.samples.back());
    }
    proposal.exhausted = !next_.has_value();
    return proposal;
  }

  void Tell(const v1::Sample&, const Observation&) override {}

 private:
  const Space& space_;
  std::optional<v1::Sample> next_;
};

// A permutation of 0 .. size-1 that is computed, not stored: a Feistel network permutes the numbers of 2k bits, and
// what falls outside is permuted again until it falls inside (Black and Rogaway, "Ciphers with arbitrary finite
// domains", 2002: cycle walking; on average fewer than four rounds).
class Permutation {
 public:
  Permutation(mpz_class size, uint64_t seed) : size_(std::move(size)), seed_(seed) {
    const mpz_class largest = size_ - 1;
    half_bits_ = (mpz_sizeinbase(largest.get_mpz_t(), 2) + 1) / 2;
    mpz_setbit(half_.get_mpz_t(), half_bits_);
  }

  mpz_class operator()(mpz_class number) const {
    do {
      number = Encrypt(number);
    } while (number >= size_);
    return number;
  }

 private:
  // Four make a good pseudo-random permutation of large domains; small ones want more.
  static constexpr int kRounds = 8;

  mpz_class Encrypt(const mpz_class& number) const {
    mpz_class left = number >> half_bits_;
    mpz_class right = number % half_;
    for (int round = 0; round < kRounds; ++round) {
      mpz_class mixed = left ^ Scramble(right, round);
      left = std::move(right);
      right = std::move(mixed);
    }
    return (left << half_bits_) + right;
  }

  // half_bits_ pseudo-random bits.
  mpz_class Scramble(const mpz_class& number, uint64_t round) const {
    const uint64_t hash = StableHash(number.get_str(16));
    mpz_class bits = 0;
    for (uint64_t block = 0; block * 64 < half_bits_; ++block) {
      const uint64_t word = MixSeed({seed_, round, block, hash});
      mpz_class more;
      mpz_import(more.get_mpz_t(), 1, 1, sizeof(word), 0, 0, &word);
      bits = (bits << 64) + more;
    }
    return bits % half_;
  }

  const mpz_class size_;
  const uint64_t seed_;
  mp_bitcnt_t half_bits_ = 0;
  // 2^half_bits_.
  mpz_class half_;
};

class ShuffledGridSearch : public Strategy {
 public:
  // REQUIRES: the space's size is known.
  ShuffledGridSearch(const Space& space, uint64_t seed) : space_(space), permutation_(*space.size(), seed) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    for (; static_cast<int>(proposal.samples.size()) < count && next_ < *space_.size(); ++next_) {
      proposal.samples.push_back(space_.Unrank(permutation_(next_)));
    }
    proposal.exhausted = next_ == *space_.size();
    return proposal;
  }

  void Tell(const v1::Sample&, const Observation&) override {}

 private:
  const Space& space_;
  const Permutation permutation_;
  mpz_class next_ = 0;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeGridSearch(const v1::GridSearchConfig& config, const Space& space,
                                                         uint64_t seed) {
  if (!config.shuffle()) return std::make_unique<GridSearch>(space);
  if (!space.size().has_value()) {
    return absl::FailedPreconditionError(
        "grid_search with shuffle needs a space whose size is known, and this one's is not (see `lanista validate`); "
        "use grid_search without shuffle, or random");
  }
  return std::make_unique<ShuffledGridSearch>(space, seed);
}

LANISTA_REGISTER(StrategyRegistry, grid_search, v1::GridSearchConfig, MakeGridSearch);

}  // namespace
}  // namespace lanista
