// What strategies that draw models share: no model twice, none outside the limits, and an end where the space ends.
#ifndef LANISTA_SRC_STRATEGIES_PROPOSALS_H_
#define LANISTA_SRC_STRATEGIES_PROPOSALS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/space/space.h"
#include "src/strategies/known_limits.h"
#include "src/strategies/strategy.h"

namespace lanista {

// Which models of a space were proposed, are running, or were told about. Used by one thread.
//
// With `dedup`, a model that is known in any of these ways is not proposed again. Of an incomplete space it knows what
// discovery saw: it ends when every such model was proposed.
class Proposals {
 public:
  using Options = Space::Options;

  // Models that one Draw draws or tests against the limits before it gives up.
  static constexpr int kLimitTests = 10000;

  // Uses the context's space, limits and seed.
  Proposals(const StrategyContext& context, bool dedup);

  const Space& space() const { return space_; }
  // The strategy's random numbers.
  std::mt19937_64& random() { return random_; }

  // Proposes `model` if that is allowed: it is within the limits and, with dedup, not known.
  bool Take(const Options& model);

  // Somebody else proposed `model`.
  void Expect(const Options& model);

  // The outcome of `model` is there. True if it was running: Take or Expect came before.
  bool Told(const Options& model);

  // Whether `model` was taken, expected or told.
  bool Known(const Options& model) const { return known_.contains(Key(model)); }

  // Models whose outcomes are still to come, in the order of their proposal.
  const std::vector<Options>& running() const { return running_; }

  // A model drawn at random that Take allows, already taken: to the last one of a finite space. nullopt: there is none,
  // or none was found within the limits by kLimitTests of them; it then is exhausted for good. An error
  // (KnownLimits::NothingAllowed) if no model was proposed before.
  absl::StatusOr<std::optional<Options>> Draw();

  // Nothing is left to propose.
  bool exhausted() const { return exhausted_; }

  // The body of Ask: up to `count` models, each what `propose` returns (it has called Take) or else, where that is
  // nullopt, a draw.
  absl::StatusOr<Strategy::Proposal> Fill(int count, const std::function<std::optional<Options>()>& propose);

 private:
  // Draws that may meet known models before the rest of the space is walked through.
  static constexpr int kDraws = 64;

  // A text that is equal for equal models only.
  static std::string Key(const Options& model);

  // Whether Take may propose it; remembers what is outside the limits.
  bool IsAllowed(const Options& model, const std::string& key);
  // A model that others proposed, or that was told, is known, within the limits or not.
  void Remember(const std::string& key);
  // Take, of a model with this key.
  bool TakeKey(const Options& model, const std::string& key);
  // Walks from where the last walk ended to the next model that Take allows; gives up after `tests` models that were
  // found to be outside the limits.
  std::optional<Options> Walk(Options start, int tests);

  const bool dedup_;
  const Space& space_;
  KnownLimits limits_;
  std::mt19937_64 random_;

  // Keys of all models that were taken, expected or told.
  absl::flat_hash_set<std::string> known_;
  std::vector<Options> running_;
  // Take or Expect came at least once.
  bool any_proposed_ = false;
  // Keys of models that are known to be outside the limits.
  absl::flat_hash_set<std::string> infeasible_;
  // Where the walk through the space stands, and the key of the model that it began at.
  std::optional<Options> walk_;
  std::string walk_end_;
  bool exhausted_ = false;
};

// A strategy whose models go through a Proposals. What is left to it is what it proposes and what it learns.
class ProposingStrategy : public Strategy {
 public:
  absl::StatusOr<Proposal> Ask(int count) final {
    return proposals_.Fill(count, [this] { return Propose(); });
  }
  void Tell(const v1::Sample& sample, const Observation& observation) final;
  void Expect(const v1::Sample& sample) final;

 protected:
  ProposingStrategy(const StrategyContext& context, bool dedup, v1::OnFailure on_failure)
      : proposals_(context, dedup), on_failure_(on_failure) {}

  Proposals& proposals() { return proposals_; }
  const Proposals& proposals() const { return proposals_; }

 private:
  // A model that Take has allowed; nullopt where one should be drawn at random.
  virtual std::optional<Space::Options> Propose() = 0;
  // A model's outcome is there, whether there is something to learn from it or not.
  virtual void Ended() {}
  // What LearnsFrom says is worth learning from.
  virtual void Learn(const Space::Options& model, const Observation& observation) = 0;

  Proposals proposals_;
  const v1::OnFailure on_failure_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_PROPOSALS_H_
