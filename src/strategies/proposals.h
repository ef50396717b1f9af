// Shared by strategies that draw models: they propose no model twice, no impossible one and none outside the limits,
// and end when the space is exhausted.
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

// Remembers which models of a space were proposed, are running, or were told. Used by one thread.
//
// With `dedup`, a model that is known in any of these ways is not proposed again. Of an incomplete space it knows what
// discovery saw: it ends when every such model was proposed.
class Proposals {
 public:
  // A model, by the options that it takes.
  using Options = Space::Options;

  // The most models that one Draw draws, or tests against the limits, before it gives up.
  static constexpr int kLimitTests = 10000;

  // Uses the context's space, limits and seed.
  Proposals(const StrategyContext& context, bool dedup);

  // The space of the context.
  const Space& space() const { return space_; }
  // The strategy's random numbers.
  std::mt19937_64& random() { return random_; }

  // Proposes `model` if that is allowed: it is possible, within the limits and, with dedup, not known.
  bool Take(const Options& model);

  // Records that somebody else has proposed `model`.
  void Expect(const Options& model);

  // Records that `model` has its outcome. Returns true if it was running, i.e. Take or Expect was called before.
  bool Told(const Options& model);

  // Whether `model` was taken, expected or told.
  bool Known(const Options& model) const { return known_.contains(Key(model)); }

  // Models whose outcomes are still to come, in the order of their proposal.
  const std::vector<Options>& running() const { return running_; }

  // Draws a random model that Take allows, and takes it. Finds even the last one of a finite space. nullopt: no model
  // is left, or kLimitTests models were outside the limits; then this object stays exhausted. An error
  // (KnownLimits::NothingAllowed) if that happens before any model was proposed.
  absl::StatusOr<std::optional<Options>> Draw();

  // Whether no model is left to propose.
  bool exhausted() const { return exhausted_; }

  // Implements Ask: returns up to `count` models. Each one comes from `propose`, which must have called Take; if
  // `propose` returns nullopt, it is drawn at random.
  absl::StatusOr<Strategy::Proposal> Fill(int count, const std::function<std::optional<Options>()>& propose);

 private:
  // After this many draws of known models, the rest of the space is searched in order.
  static constexpr int kDraws = 64;

  // A text that is equal for equal models only.
  static std::string Key(const Options& model);

  // Whether Take may propose the model. Remembers models that are outside the limits.
  bool IsAllowed(const Options& model, const std::string& key);
  // Makes a model known that others proposed or that was told, even if it is outside the limits.
  void Remember(const Options& model);
  // Take, of a model with this key.
  bool TakeKey(const Options& model, const std::string& key);
  // Continues the last walk through the space, up to the next model that Take allows. Gives up when `tests` models were
  // outside the limits.
  std::optional<Options> Walk(Options start, int tests);

  const bool dedup_;
  const Space& space_;
  KnownLimits limits_;
  std::mt19937_64 random_;

  // Keys of all possible models that were taken, expected or told.
  absl::flat_hash_set<std::string> known_;
  std::vector<Options> running_;
  // Whether any model within the limits is known: by Take or Expect, or told.
  bool any_proposed_ = false;
  // Keys of models that are known to be outside the limits.
  absl::flat_hash_set<std::string> infeasible_;
  // The position of the walk through the space, and the key of the model at which it began.
  std::optional<Options> walk_;
  std::string walk_end_;
  bool exhausted_ = false;
};

// A strategy whose models go through a Proposals object. Subclasses only say what to propose and how to learn.
class ProposingStrategy : public Strategy {
 public:
  // As Strategy has them.
  absl::StatusOr<Proposal> Ask(int count) final {
    return proposals_.Fill(count, [this] { return Propose(); });
  }
  // Calls Learn, unless the outcome says nothing of the model.
  void Tell(const v1::Sample& sample, const Observation& observation) final;
  // The model is known.
  void Expect(const v1::Sample& sample) final;

 protected:
  // With `dedup` no model is proposed twice. `on_failure`: what LearnsFrom does with models that failed.
  ProposingStrategy(const StrategyContext& context, bool dedup, v1::OnFailure::Action on_failure)
      : proposals_(context, dedup), on_failure_(on_failure) {}

  // What was proposed, and is running.
  Proposals& proposals() { return proposals_; }
  // The same.
  const Proposals& proposals() const { return proposals_; }

 private:
  // A model for which Take returned true; nullopt if one should be drawn at random.
  virtual std::optional<Space::Options> Propose() = 0;
  // Called for every outcome, even if there is nothing to learn from it.
  virtual void Ended() {}
  // Called for each outcome that LearnsFrom accepts.
  virtual void Learn(const Space::Options& model, const Observation& observation) = 0;

  Proposals proposals_;
  const v1::OnFailure::Action on_failure_;
};

}  // namespace lanista

#endif  // LANISTA_SRC_STRATEGIES_PROPOSALS_H_
