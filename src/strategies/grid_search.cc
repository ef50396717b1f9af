// Grid search: every model of the space once, in order or shuffled. Models are computed one at a time, so memory does
// not grow with the space. Models that others proposed are left out. One Ask tests a limited number of models against
// the limits; the next Ask continues there.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "src/base/hash.h"
#include "src/base/status.h"
#include "src/strategies/known_limits.h"
#include "src/strategies/proposals.h"
#include "src/strategies/strategy.h"

namespace lanista {
namespace {

// Walks through all models in the order of `Next`, which subclasses implement.
class Walk : public Strategy {
 public:
  explicit Walk(const StrategyContext& context) : limits_(context) {}

  absl::StatusOr<Proposal> Ask(int count) override {
    Proposal proposal;
    const int64_t most_refused = limits_.refused() + Proposals::kLimitTests;
    LANISTA_RETURN_IF_ERROR(LookAhead(most_refused));
    while (static_cast<int>(proposal.samples.size()) < count && ahead_.has_value()) {
      running_.insert(Space::Key(*ahead_));
      proposal.samples.push_back(*std::move(ahead_));
      ahead_.reset();
      LANISTA_RETURN_IF_ERROR(LookAhead(most_refused));
    }
    proposal.exhausted = ended_ && !ahead_.has_value();
    proposal.searching = proposal.samples.empty() && !proposal.exhausted;
    return proposal;
  }

  void Tell(const v1::Sample& sample, const Observation&) override {
    std::string key = Space::Key(sample);
    if (running_.erase(key) > 0) return;
    // Of another search, whose limits may have been others.
    if (!found_ && limits_.any()) found_ = limits_.Allow(sample);
    elsewhere_.insert(std::move(key));
  }

  void Expect(const v1::Sample& sample) override {
    found_ = true;
    elsewhere_.insert(Space::Key(sample));
  }

 protected:
  // The next model of the walk; nullopt behind the last.
  virtual std::optional<v1::Sample> Next() = 0;

 private:
  // Moves to the next model that is within the limits and that nobody else proposed. Stops when the limits have refused
  // `most_refused` models altogether. Returns KnownLimits::NothingAllowed if the walk ends without any model.
  absl::Status LookAhead(int64_t most_refused) {
    // Somebody else may have proposed it in the meantime.
    if (ahead_.has_value() && elsewhere_.contains(Space::Key(*ahead_))) ahead_.reset();
    while (!ended_ && !ahead_.has_value() && limits_.refused() < most_refused) {
      std::optional<v1::Sample> next = Next();
      ended_ = !next.has_value();
      if (!ended_ && limits_.Allow(*next) && !elsewhere_.contains(Space::Key(*next))) ahead_ = std::move(next);
      // After the first model was found, the walk continues to the end of the space, however far away the next one is.
      if (!found_ && !ahead_.has_value() && limits_.refused() >= Proposals::kLimitTests) ended_ = true;
    }
    found_ = found_ || ahead_.has_value();
    if (ended_ && limits_.refused() > 0 && !found_) return limits_.NothingAllowed();
    return absl::OkStatus();
  }

  KnownLimits limits_;
  // Whether any model within the limits is known: proposed by this strategy or by others, or told.
  bool found_ = false;
  // Keys of models that it has proposed and that are not told yet, and of those that somebody else has proposed.
  absl::flat_hash_set<std::string> running_;
  absl::flat_hash_set<std::string> elsewhere_;
  // The next model. It is found in advance, so that the end of the space is known in time.
  std::optional<v1::Sample> ahead_;
  bool ended_ = false;
};

// Walks in lexicographic order. Needs no size: of an incomplete space it visits every sample that discovery knows of.
class GridSearch : public Walk {
 public:
  explicit GridSearch(const StrategyContext& context) : Walk(context), space_(context.space) {}

 private:
  std::optional<v1::Sample> Next() override {
    if (!last_.has_value()) {
      last_ = space_.FirstOptions();
    } else if (!space_.Advance(&*last_)) {
      return std::nullopt;
    }
    return space_.ToSample(*last_);
  }

  const Space& space_;
  std::optional<Space::Options> last_;
};

// A permutation of 0 .. size-1 that is computed, not stored: a Feistel network permutes the numbers of 2k bits, and a
// result that is too large is permuted again until it is below size (cycle walking: Black and Rogaway, "Ciphers with
// arbitrary finite domains", 2002; on average fewer than four rounds).
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
  // Four rounds make a good pseudo-random permutation of large domains; small domains need more.
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

class ShuffledGridSearch : public Walk {
 public:
  // REQUIRES: the space's size is known.
  explicit ShuffledGridSearch(const StrategyContext& context)
      : Walk(context), space_(context.space), permutation_(*space_.size(), context.seed) {}

 private:
  std::optional<v1::Sample> Next() override {
    if (next_ == *space_.size()) return std::nullopt;
    return space_.Unrank(permutation_(next_++));
  }

  const Space& space_;
  const Permutation permutation_;
  mpz_class next_ = 0;
};

absl::StatusOr<std::unique_ptr<Strategy>> MakeGridSearch(const v1::GridSearchConfig& config,
                                                         const StrategyContext& context) {
  if (!config.shuffle()) return std::make_unique<GridSearch>(context);
  if (!context.space.size().has_value()) {
    return absl::FailedPreconditionError(
        "grid_search with shuffle needs a space whose size is known, and this one's is not (see `lanista validate`); "
        "use grid_search without shuffle, or random");
  }
  return std::make_unique<ShuffledGridSearch>(context);
}

LANISTA_REGISTER_BUILT_IN(StrategyRegistry, grid_search, v1::GridSearchConfig, MakeGridSearch);

}  // namespace
}  // namespace lanista
